import { isAssertion, isCallOf, isInLoop, isWithin, methodOf, scopeOf, ts, walk } from './syntax.js'

/**
 * @import { CallExpression, Expression, Identifier, Node, PropertyAccessExpression } from 'typescript'
 * @import { Report } from './syntax.js'
 * @typedef {CallExpression & { expression: PropertyAccessExpression }} MethodCall
 */

/** Methods and functions whose result has as many elements as the list that they are given; of `flat`, as a rule. */
const KEEPING = /^(?:entries|map|flatMap|flat|sort|toSorted|values|keys|concat)$/
const KEEPING_FUNCTIONS = /^(?:Object\.(?:entries|keys|values)|Promise\.all)$/

/** Assertions in a loop whose list may be empty. @param {Expression} list @param {Node} body @param {Report} report */
export function checkLoop(list, body, report) {
  let asserts = false
  walk(body, (node) => {
    if (isAssertion(node) && methodOf(node) !== 'fail') asserts = true
  })
  // A loop that makes the tests: their names are in the report of CI, which misses those that disappear.
  if (!asserts || !mayBeEmpty(list) || ts.isSourceFile(scopeOf(list))) return
  if (!isSeen(list, identifiersOf(list), body))
    report(list, `a loop over ${list.getText().slice(0, 40)}, which nothing says is not empty`)
}

/**
 * Any claim about all elements of a list is true if the list is empty. The source does not show what a function returns.
 * @param {CallExpression} assertion @param {Report} report
 */
export function checkAll(assertion, report) {
  for (const claim of claimsOf(assertion)) {
    const list = claim.expression.expression
    if (isVariable(list) && mayBeEmpty(list) && !isSeen(list, namesOf(list), claim))
      report(claim, `all of ${list.getText().slice(0, 40)}, which nothing says is not empty`)
  }
}

/** The calls by which an assertion says something of all elements of a list. @param {CallExpression} assertion @returns {MethodCall[]} */
function claimsOf(assertion) {
  const [actual, expected] = assertion.arguments
  const method = methodOf(assertion)
  if (!actual) return []
  if (method === 'ok' || method === 'notOk') return claimsIn(actual, method === 'ok')
  if (!expected || !/^(?:equal|same|strictSame)$/.test(String(method))) return []
  const isTrue = expected.kind === ts.SyntaxKind.TrueKeyword
  if (isTrue || expected.kind === ts.SyntaxKind.FalseKeyword) return claimsIn(actual, isTrue)
  // In a loop, some turns may have nothing to look at.
  const isNothing = ts.isArrayLiteralExpression(expected) && expected.elements.length === 0
  return isNothing && !isInLoop(assertion) ? filtersIn(actual) : []
}

/** @param {Expression} node @param {boolean} is what the node has to be @returns {MethodCall[]} */
function claimsIn(node, is) {
  if (ts.isParenthesizedExpression(node)) return claimsIn(node.expression, is)
  if (ts.isPrefixUnaryExpression(node))
    return node.operator === ts.SyntaxKind.ExclamationToken ? claimsIn(node.operand, !is) : []
  if (ts.isBinaryExpression(node)) {
    // `a && b` is true if both are, and `a || b` is false if both are.
    const joins = is ? ts.SyntaxKind.AmpersandAmpersandToken : ts.SyntaxKind.BarBarToken
    return node.operatorToken.kind === joins ? [...claimsIn(node.left, is), ...claimsIn(node.right, is)] : []
  }
  return isCallOf(node, is ? /^every$/ : /^some$/) ? [node] : []
}

/** The filters that leave nothing: of the node, or of the variable that it is. @param {Expression} node @returns {MethodCall[]} */
function filtersIn(node) {
  if (isCallOf(node, /^map$/)) return filtersIn(node.expression.expression)
  if (isCallOf(node, /^filter$/)) return [node]
  return ts.isIdentifier(node) ? valuesOf(node).flatMap((value) => (isCallOf(value, /^filter$/) ? [value] : [])) : []
}

/** Whether a list is a variable, or made of one. @param {Expression} list @returns {boolean} */
function isVariable(list) {
  if (ts.isIdentifier(list) || ts.isPropertyAccessExpression(list) || ts.isElementAccessExpression(list)) return true
  if (ts.isArrayLiteralExpression(list)) return true
  if (isCallOf(list, /^(?:filter|slice)$/)) return isVariable(list.expression.expression)
  const [made] = madeOf(list)
  return made !== undefined && isVariable(made)
}

/** The lists whose elements a list has, or something for each. @param {Expression} list @returns {Expression[]} none: the text does not tell */
function madeOf(list) {
  if (ts.isParenthesizedExpression(list) || ts.isAwaitExpression(list)) return [list.expression]
  if (ts.isArrayLiteralExpression(list))
    return list.elements.flatMap((one) => (ts.isSpreadElement(one) ? one.expression : []))
  if (ts.isCallExpression(list) && KEEPING_FUNCTIONS.test(list.expression.getText())) return list.arguments.slice(0, 1)
  return isCallOf(list, KEEPING) ? [list.expression.expression] : []
}

/** Lists are followed no further: in a circle, there would be no end. */
const MOST_STEPS = 8

/** The names of a list, and those of the lists that it is made of. @param {Expression} list */
function namesOf(list) {
  return [...identifiersOf(list), ...namesBehind(list, MOST_STEPS)]
}

/** @param {Expression} list @param {number} steps @returns {string[]} */
function namesBehind(list, steps) {
  const own = ts.isIdentifier(list) ? [list.text] : []
  if (steps === 0) return own
  const others = ts.isIdentifier(list) ? valuesOf(list) : madeOf(list)
  return [...own, ...others.flatMap((other) => namesBehind(other, steps - 1))]
}

/** What the variables of a name are at first, in the test. @param {Identifier} identifier @returns {Expression[]} */
function valuesOf(identifier) {
  /** @type {Expression[]} */
  const values = []
  walk(scopeOf(identifier), (node) => {
    if (ts.isVariableDeclaration(node) && node.initializer && node.name.getText() === identifier.text)
      values.push(node.initializer)
  })
  return values
}

/** Whether an assertion says something else of a list. @param {Expression} list @param {string[]} names @param {Node} but where nobody looks */
function isSeen(list, names, but) {
  let is = false
  walk(scopeOf(list), (node) => {
    if (!isAssertion(node) || isWithin(node, but)) return
    // Its message only shows what it is about.
    const said = isWithin(but, node) ? /** @type {CallExpression} */ (node).arguments[0] : node
    if (identifiersOf(said, but).some((name) => names.includes(name))) is = true
  })
  return is
}

/** @param {Expression} list @param {string[]} [asked] variables about which this is asked already @returns {boolean} */
function mayBeEmpty(list, asked = []) {
  if (ts.isParenthesizedExpression(list)) return mayBeEmpty(list.expression, asked)
  if (ts.isArrayLiteralExpression(list)) {
    return list.elements.every((one) => ts.isSpreadElement(one) && mayBeEmpty(one.expression, asked))
  }
  if (ts.isStringLiteral(list)) return list.text === ''
  if (ts.isConditionalExpression(list)) return mayBeEmpty(list.whenTrue, asked)
  if (ts.isAwaitExpression(list)) return mayBeEmpty(list.expression, asked)
  // Tables are imported or stand in the file; a constant in capitals is one.
  if (ts.isIdentifier(list)) return !/^[A-Z][A-Z_\d]*$/.test(list.text) && !isTable(list, asked)
  // A text has a first part, whatever it is split by.
  if (isCallOf(list, /^split$/)) return false
  if (ts.isCallExpression(list)) {
    const name = list.expression.getText()
    if (/^Object\.(?:entries|keys|values)$/.test(name))
      return ts.isObjectLiteralExpression(list.arguments[0]) ? false : mayBeEmpty(list.arguments[0], asked)
    if (name === 'Promise.all') return mayBeEmpty(list.arguments[0], asked)
    if (/^Array\.from$/.test(name) && ts.isObjectLiteralExpression(list.arguments[0])) return false
    if (isCallOf(list, KEEPING)) return mayBeEmpty(list.expression.expression, asked)
  }
  return true
}

/** A parameter of a function around it, an import, or a variable that is a literal. @param {Identifier} identifier @param {string[]} asked */
function isTable(identifier, asked) {
  const { text } = identifier
  if (asked.includes(text)) return false
  let is = false
  walk(identifier.getSourceFile(), (node) => {
    if (ts.isImportSpecifier(node) && node.name.text === text) is = true
    if (ts.isParameter(node) && node.name.getText() === text && isWithin(identifier, node.parent)) is = true
    if (ts.isVariableDeclaration(node) && node.name.getText() === text && node.initializer) {
      let value = node.initializer
      while (ts.isParenthesizedExpression(value)) value = value.expression
      if (ts.isObjectLiteralExpression(value)) is ||= value.properties.length > 0
      else if (!ts.isIdentifier(value)) is ||= !mayBeEmpty(value, [...asked, text])
    }
  })
  return is
}

/** @param {Node} node @param {Node} [but] where nobody looks @returns {string[]} */
function identifiersOf(node, but) {
  /** @type {string[]} */
  const names = []
  walk(node, (one) => {
    if (but && isWithin(one, but)) return
    if (ts.isIdentifier(one) && !/^(?:t|Object|Array|entries|keys|values|map|filter|length|size)$/.test(one.text))
      names.push(one.text)
  })
  return names
}
