import { COMPARISONS, ERRORS, isAssertion, isCallOf, isInLoop, methodOf, scopeOf, TRUTHS, ts, walk } from './syntax.js'
import { checkAll, checkLoop } from './vacuous-lists.js'

/**
 * @import { CallExpression, Node } from 'typescript'
 * @import { Report } from './syntax.js'
 */

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
      checkAll(node, report)
    }
    if (ts.isForOfStatement(node)) checkLoop(node.expression, node.statement, report)
    if (isCallOf(node, /^forEach$/) && node.arguments[0])
      checkLoop(node.expression.expression, node.arguments[0], report)
  })
  return found
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
    if (isAssertion(node) || method === 'test') asserts = true
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
