import { createRequire } from 'node:module'

/** @import { CallExpression, Node, PropertyAccessExpression } from 'typescript' */

/** Required, since Node looks through the 9 MB of a CommonJS package that is imported for what it exports. @type {import('typescript')} */
export const ts = createRequire(import.meta.url)('typescript')

const PATTERNS = ['match', 'has', 'hasStrict', 'notMatch', 'notHas']
export const COMPARISONS = ['equal', 'not', 'same', 'notSame', 'strictSame', 'strictNotSame', 'type', ...PATTERNS]
export const ERRORS = ['throws', 'rejects']
export const TRUTHS = ['ok', 'notOk']
const ASSERTIONS = [
  ...COMPARISONS,
  ...ERRORS,
  ...TRUTHS,
  'pass',
  'fail',
  'doesNotThrow',
  'resolves',
  'resolveMatch',
  'error',
  'plan',
]

/** @typedef {(node: Node, what: string) => void} Report */

/** Of `t.equal(…)`: equal; null for what is no method of a test. @param {Node} node */
export function methodOf(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null
  const { expression, name } = node.expression
  return ts.isIdentifier(expression) && /^t\d?$/.test(expression.text) ? name.text : null
}

/** @param {Node} node */
export function isAssertion(node) {
  return ASSERTIONS.includes(String(methodOf(node)))
}

/** Whether a node is `….name(…)`. @param {Node} node @param {RegExp} name @returns {node is CallExpression & { expression: PropertyAccessExpression }} */
export function isCallOf(node, name) {
  return (
    ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && name.test(node.expression.name.text)
  )
}

/** The body of the test in which a node stands, or the file. @param {Node} node @returns {Node} */
export function scopeOf(node) {
  for (let at = node; at.parent; at = at.parent) if (methodOf(at) === 'test') return at
  return node.getSourceFile()
}

/** @param {Node} node */
export function isInLoop(node) {
  for (let at = node; at.parent && methodOf(at) !== 'test'; at = at.parent)
    if (ts.isIterationStatement(at, false)) return true
  return false
}

/** @param {Node} node @param {Node} outer */
export function isWithin(node, outer) {
  return node.pos >= outer.pos && node.end <= outer.end
}

/** @param {Node} node @param {(node: Node) => void} visit */
export function walk(node, visit) {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}
