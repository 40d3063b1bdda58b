import t from 'tap'
import { createCauseLog, createLog } from '../../../api/log.js'

/** @param {object[]} errors @returns {string[]} the messages of those that are logged */
function logged(errors) {
  /** @type {string[]} */
  const lines = []
  const logCause = createCauseLog(createLog('info', { write: (line) => void lines.push(line) }), 'it failed')
  for (const error of errors) logCause(error)
  return lines.map((line) => JSON.parse(line).err.message)
}

const raised = (/** @type {string} */ message) => ({ code: 'P0001', routine: 'exec_stmt_raise', message })
const violated = (/** @type {string} */ constraint, message = constraint) => {
  return { code: '23514', routine: 'ExecConstraints', constraint, message }
}

t.test('a cause whose text names the row is logged once', async (t) => {
  t.strictSame(logged([raised('no ada'), raised('no bob'), violated('one', 'ada'), violated('one', 'bob')]), [
    'no ada',
    'ada',
  ])
})

t.test('other constraints, other codes, and other errors without a code are other causes', async (t) => {
  const errors = [
    violated('one'),
    violated('two'),
    raised('three'),
    new Error('four'),
    new Error('five'),
    new Error('five'),
  ]
  t.strictSame(logged(errors), ['one', 'two', 'three', 'four', 'five'])
})
