import t from 'tap'
import { checkLedger } from '../../../../../tuning/experiments/crash-test/ledger.js'

const acknowledged = (/** @type {string} */ email, /** @type {string} */ id) => {
  return /** @type {const} */ ({ email, outcome: 'acknowledged', id })
}

t.test('the ledger finds what is lost, doubled and invented, and nothing else', async (t) => {
  const ledger = [
    acknowledged('a', '1'),
    acknowledged('b', '2'),
    { email: 'c', outcome: /** @type {const} */ ('unknown') },
    { email: 'd', outcome: /** @type {const} */ ('refused') },
  ]
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((email, i) => ({ id: String(i + 1), email }))
  const fine = { acknowledged: 2, unknown: 1, lost: [], doubled: [], invented: [] }
  t.strictSame(checkLedger(ledger, [a, b]), fine)
  t.strictSame(checkLedger(ledger, [b, c, a]), fine, 'a row without an answer may be there')
  const foreign = { id: '9', email: 'x' }
  for (const [about, found, wrong] of /** @type {const} */ ([
    ['a row is missing', [a], { lost: ['b'] }],
    ['its id has another email', [a, { ...c, id: '2' }], { lost: ['b'] }],
    ['stored twice', [a, b, { ...a, id: '9' }], { doubled: ['a'] }],
    ['of unknown outcome, and there twice', [a, b, c, { ...c, id: '9' }], { doubled: ['c'] }],
    ['refused, and stored all the same', [a, b, d], { invented: ['d'] }],
    ['nobody sent it', [a, b, foreign], { invented: ['x'] }],
  ])) {
    t.strictSame(checkLedger(ledger, [...found]), { ...fine, ...wrong }, about)
  }
})
