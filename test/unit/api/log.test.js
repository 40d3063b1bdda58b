import fs from 'node:fs'
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

t.test('what a full disk refuses is written when there is room again; up to a megabyte of it waits', async (t) => {
  const { writeSync } = fs
  let hasRoom = false
  let written = ''
  fs.writeSync = /** @type {any} */ (
    (/** @type {number} */ _fd, /** @type {string} */ text) => {
      if (!hasRoom) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      written += text
      return Buffer.byteLength(text)
    }
  )
  try {
    const log = createLog('info')
    const filler = 'x'.repeat(1000)
    for (let n = 0; n < 3000; n++) log.info({ n, filler })
    hasRoom = true
    for (const text of ['dropped, but the rest is tried again', 'last']) log.info({ filler }, text)
  } finally {
    fs.writeSync = writeSync
  }
  const lines = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.equal(lines[0].n, 0, 'the oldest first')
  t.ok(lines.length > 800 && written.length < 2 ** 20 + 2000, `${lines.length} lines, ${written.length} bytes`)
  t.equal(lines.at(-1).msg, 'last')
})
