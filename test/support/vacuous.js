import { createRequire } from 'node:module'

/** @import { CallExpression, Expression, Identifier, Node } from 'typescript' */

/** Required, since Node looks through the 9 MB of a CommonJS package that is imported for what it exports. @type {import('typescript')} */
const ts = createRequire(import.meta.url)('typescript')

const PATTERNS = ['match', 'has', 'hasStrict', 'notMatch', 'notHas']
const COMPARISONS = ['equal', 'not', 'same', 'notSame', 'strictSame', 'strictNotSame', 'type', ...PATTERNS]
const ERRORS = ['throws', 'rejects']
const TRUTHS = ['ok', 'notOk']
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

/**
 * Assertions in a test file that cannot fail, or that pass for too much. What it cannot decide from the text, it lets pass.
 * @param {string} name of the file
 * @param {string} text
 * @returns {string[]} `line: what is wrong`
 */
export function vacuousIn(name, text) {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  /** @type {string[]} */
  const found = []
  const report = (/** @type {Node} */ node, /** @type {string} */ what) => {
    found.push(`${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${what}`)
  }
  walk(file, (node) => {
    if (ts.isCallExpression(node)) {
      checkAssertion(node, report)
      checkTest(node, report)
      checkSleep(node, report)
    }
    if (ts.isForOfStatement(node)) checkLoop(node.expression, node.statement, report)
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.name.text === 'forEach'
    ) {
      if (node.arguments[0]) checkLoop(node.expression.expression, node.arguments[0], report)
    }
  })
  return found
}

/** @typedef {(node: Node, what: string) => void} Report */

/** Of `t.equal(…)`: equal; null for what is no method of a test. @param {Node} node */
function methodOf(node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return null
  const { expression, name } = node.expression
  return ts.isIdentifier(expression) && /^t\d?$/.test(expression.text) ? name.text : null
}

/** @param {CallExpression} call @param {Report} report */
function checkAssertion(call, report) {
  const method = methodOf(call)
  if (method === null) return
  const [actual, expected, message] = call.arguments
  if (method === 'only' || (method === 'test' && hasProperty(call, 'only')))
    report(call, 'only: the other tests do not run')
  if (TRUTHS.includes(method)) {
    if (actual && isConstant(actual)) report(call, `t.${method} of a literal`)
    if (expected && isNoMessage(expected)) report(call, `t.${method} takes a message second, not an expected value`)
  }
  if (COMPARISONS.includes(method)) {
    if (call.arguments.length < 2) report(call, `t.${method} without an expected value`)
    if (message && isNoMessage(message)) report(call, `t.${method} takes a message third`)
  }
  if (['match', 'has', 'hasStrict'].includes(method) && expected) checkPattern(actual, expected, report)
  if (ERRORS.includes(method) && (!expected || isText(expected))) report(call, `t.${method} passes for any error`)
}

/**
 * An array matches where it is a prefix, unless its length is compared, too; an empty object matches anything.
 * @param {Node} actual @param {Node} pattern @param {Report} report @param {string} [path] within actual
 */
function checkPattern(actual, pattern, report, path = '') {
  if (ts.isArrayLiteralExpression(pattern)) {
    const length = `${actual.getText()}${path}.length`.replaceAll('?.', '.')
    let isCompared = false
    walk(scopeOf(actual), (node) => {
      if (methodOf(node) !== null && methodOf(node) !== 'test')
        isCompared ||= node.getText().replaceAll('?.', '.').includes(length)
    })
    if (!isCompared) report(pattern, 'an array as a pattern ignores what follows it')
  }
  if (!ts.isObjectLiteralExpression(pattern)) return
  if (pattern.properties.length === 0) report(pattern, 'an empty object as a pattern matches anything')
  for (const property of pattern.properties) {
    if (ts.isPropertyAssignment(property))
      checkPattern(actual, property.initializer, report, `${path}.${property.name.getText()}`)
  }
}

/** @param {CallExpression} call @param {Report} report */
function checkTest(call, report) {
  const isTest = methodOf(call) === 'test' || (ts.isIdentifier(call.expression) && call.expression.text === 'test')
  const body = call.arguments.at(-1)
  if (!isTest || !body || !(ts.isArrowFunction(body) || ts.isFunctionExpression(body))) return
  let asserts = false
  walk(body.body, (node) => {
    const method = methodOf(node)
    if (method !== null && (ASSERTIONS.includes(method) || method === 'test')) asserts = true
    // A helper that is given the test may assert.
    if (ts.isCallExpression(node) && method === null && node.arguments.some((one) => /^t\d?$/.test(one.getText())))
      asserts = true
    // So does one that throws.
    if (ts.isCallExpression(node) && /\b(?:assert|check)$/.test(node.expression.getText())) asserts = true
  })
  if (!asserts) report(call, 'a test without an assertion')
}

/** @param {CallExpression} call @param {Report} report */
function checkSleep(call, report) {
  const [first, second] = call.arguments
  const name = call.expression.getText()
  const isLiteral = (/** @type {Node | undefined} */ node) => node !== undefined && ts.isNumericLiteral(node)
  const isTimer = name === 'setTimeout' && isLiteral(second) && first.getText() === 'resolve'
  const isAwaited = ts.isAwaitExpression(call.parent) && /^(?:sleep|pause|delay|setTimeout)$/.test(name)
  // In a loop it polls.
  if ((isTimer || (isAwaited && isLiteral(first))) && !isInLoop(call))
    report(call, 'a sleep: wait for what it waits for')
}

/** Assertions in a loop whose list may be empty. @param {Expression} list @param {Node} body @param {Report} report */
function checkLoop(list, body, report) {
  let asserts = false
  walk(body, (node) => {
    const method = methodOf(node)
    if (method !== null && ASSERTIONS.includes(method) && method !== 'fail') asserts = true
  })
  // A loop that makes the tests: their names are in the report of CI, which misses those that disappear.
  if (!asserts || !mayBeEmpty(list) || ts.isSourceFile(scopeOf(list))) return
  const names = new Set(identifiersOf(list))
  let isSeen = false
  walk(scopeOf(list), (node) => {
    if (isWithin(node, body) || methodOf(node) === null || !ASSERTIONS.includes(String(methodOf(node)))) return
    if (identifiersOf(node).some((name) => names.has(name))) isSeen = true
  })
  if (!isSeen) report(list, `a loop over ${list.getText().slice(0, 40)}, which nothing says is not empty`)
}

/** @param {Expression} list @returns {boolean} */
function mayBeEmpty(list) {
  if (ts.isParenthesizedExpression(list)) return mayBeEmpty(list.expression)
  if (ts.isArrayLiteralExpression(list)) {
    return list.elements.every((one) => ts.isSpreadElement(one) && mayBeEmpty(one.expression))
  }
  if (ts.isStringLiteral(list)) return list.text === ''
  if (ts.isConditionalExpression(list)) return mayBeEmpty(list.whenTrue)
  if (ts.isAwaitExpression(list)) return mayBeEmpty(list.expression)
  // Tables are imported or stand in the file; a constant in capitals is one.
  if (ts.isIdentifier(list)) return !/^[A-Z][A-Z_\d]*$/.test(list.text) && !isTable(list)
  if (ts.isCallExpression(list)) {
    const name = list.expression.getText()
    if (/^Object\.(?:entries|keys|values)$/.test(name))
      return ts.isObjectLiteralExpression(list.arguments[0]) ? false : mayBeEmpty(list.arguments[0])
    if (name === 'Promise.all') return mayBeEmpty(list.arguments[0])
    if (/^Array\.from$/.test(name) && ts.isObjectLiteralExpression(list.arguments[0])) return false
    if (
      ts.isPropertyAccessExpression(list.expression) &&
      /^(?:entries|map|flatMap|flat|sort|toSorted|values|keys|concat)$/.test(list.expression.name.text)
    ) {
      return mayBeEmpty(list.expression.expression)
    }
  }
  return true
}

/** A parameter, an import, or a variable that is a literal. @param {Identifier} identifier */
function isTable(identifier) {
  let is = false
  walk(identifier.getSourceFile(), (node) => {
    if (ts.isImportSpecifier(node) && node.name.text === identifier.text) is = true
    if (ts.isParameter(node) && node.name.getText() === identifier.text) is = true
    if (ts.isVariableDeclaration(node) && node.name.getText() === identifier.text && node.initializer) {
      let value = node.initializer
      while (ts.isParenthesizedExpression(value)) value = value.expression
      if (ts.isObjectLiteralExpression(value)) is ||= value.properties.length > 0
      else if (!ts.isIdentifier(value)) is ||= !mayBeEmpty(value)
    }
  })
  return is
}

/** The body of the test in which a node stands, or the file. @param {Node} node @returns {Node} */
function scopeOf(node) {
  for (let at = node; at.parent; at = at.parent) if (methodOf(at) === 'test') return at
  return node.getSourceFile()
}

/** @param {Node} node */
function isInLoop(node) {
  for (let at = node; at.parent && methodOf(at) !== 'test'; at = at.parent)
    if (ts.isIterationStatement(at, false)) return true
  return false
}

/** @param {Node} node */
function identifiersOf(node) {
  /** @type {string[]} */
  const names = []
  walk(node, (one) => {
    if (ts.isIdentifier(one) && !/^(?:t|Object|Array|entries|keys|values|map|filter|length|size)$/.test(one.text))
      names.push(one.text)
  })
  return names
}

/** @param {Node} node */
function isText(node) {
  return ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)
}

/** @param {Node} node */
function isConstant(node) {
  return (
    isText(node) ||
    ts.isArrayLiteralExpression(node) ||
    ts.isObjectLiteralExpression(node) ||
    ts.isNumericLiteral(node) ||
    ts.isArrowFunction(node) ||
    ts.isRegularExpressionLiteral(node)
  )
}

/** @param {Node} node */
function isNoMessage(node) {
  const isWord = [ts.SyntaxKind.TrueKeyword, ts.SyntaxKind.FalseKeyword, ts.SyntaxKind.NullKeyword].includes(node.kind)
  return isWord || (isConstant(node) && !isText(node) && !ts.isObjectLiteralExpression(node))
}

/** @param {CallExpression} call @param {string} name */
function hasProperty(call, name) {
  return call.arguments.some(
    (one) => ts.isObjectLiteralExpression(one) && one.properties.some((property) => property.name?.getText() === name),
  )
}

/** @param {Node} node @param {Node} outer */
function isWithin(node, outer) {
  return node.pos >= outer.pos && node.end <= outer.end
}

/** @param {Node} node @param {(node: Node) => void} visit */
function walk(node, visit) {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}
