import assert from 'node:assert/strict'
import { STATEMENT_FAULTS } from './faults.js'

/**
 * @import { Server, Unit } from './postgres.js'
 * @import { Sent } from './run.js'
 * @import { Exchange } from './service.js'
 * @import { ServerError } from './wire.js'
 */

/** What a request may be told of which no statement was sent. */
const NOT_SENT = ['overloaded', 'no_database_slot', 'database_unavailable']

/** What a request may be told because of its own row. */
const ABOUT_A_ROW = ['row_refused', 'user_exists']

/** SQLSTATEs and routines that the server answers by itself. */
const TOLD = new Map([
  ['ERROR 23514 ', 'row_refused'],
  ...Object.values(STATEMENT_FAULTS).flatMap(({ error, told }) =>
    error ? [/** @type {[string, string]} */ ([signature(error), told])] : [],
  ),
])

/**
 * Compares what each request was told with what the server did.
 * @param {Sent[]} sent
 * @param {Server} postgres
 * @throws {assert.AssertionError}
 */
export function checkAnswers(sent, postgres) {
  const ids = new Set()
  for (const request of sent) {
    const about = `${request.kind} at ${request.at_ms} ms, ${request.email ?? ''}`
    assert.equal(request.answers.length, 1, `${about}: one answer`)
    const [answer] = request.answers
    if (request.kind === 'find') checkFound(answer, about)
    else if (request.key === undefined) {
      checkStored(request, postgres, about)
      if (answer.status === 201) ids.add(answer.id)
    }
  }
  const stored = sent.filter(
    ({ kind, key, answers }) => kind !== 'find' && key === undefined && answers[0].status === 201,
  )
  assert.equal(ids.size, stored.length, 'no id is given twice')
  checkKeys(sent, postgres)
}

/** @param {Exchange['answers'][number]} answer @param {string} about */
function checkFound({ status, code }, about) {
  if (status === 200) return
  // The faults are drawn without regard to the statement, so that a read may meet a duplicate.
  const expected = ['not_found', 'database_refused', ...ABOUT_A_ROW, ...NOT_SENT]
  assert.ok(expected.includes(code), `${about}: a read is never told ${code}`)
}

/** @param {Sent} request @param {Server} postgres @param {string} about */
function checkStored({ email = '', answers: [{ status, code, id }] }, { tables, units }, about) {
  const rows = tables.users.filter((user) => user.email === email)
  const mine = units.filter(({ users }) => users.includes(email))
  const expected = expectedOf(mine)
  const told = status === 201 ? 'created' : code
  assert.ok(expected.includes(told), `${about}: expected ${expected.join(' or ')}, got ${told}`)
  if (status === 201) {
    assert.deepEqual(
      rows.map((row) => row.id),
      [id],
      `${about}: its 201 is exactly one row`,
    )
  } else if (code === 'outcome_unknown') {
    assert.ok(rows.length <= 1, `${about}: ${rows.length} rows`)
  } else {
    assert.equal(rows.length, 0, `${about}: told ${code}, so nothing is stored`)
  }
  // Only a row that has been refused in company is sent again.
  for (const earlier of mine.slice(0, -1)) {
    assert.ok(earlier.users.length > 1 && isRowRefused(earlier), `${about}: sent again without need`)
  }
}

/** @param {Unit[]} units those that carried a row, in their order @returns {string[]} */
function expectedOf(units) {
  const last = units.at(-1)
  if (!last) return NOT_SENT
  const { users, decision } = last
  if (!decision) return ['outcome_unknown']
  if (decision.result) {
    const isWhole = !users.some((email) => email.startsWith('vanish'))
    if (isWhole) return ['created']
    return users.length === 1 ? ['row_refused'] : ['outcome_unknown']
  }
  if (users.length > 1 && isRowRefused(last)) return NOT_SENT
  // Statements sent behind a refused Parse get the reason for that refusal.
  if (decision.error.code === '26000') return ['database_unavailable', 'database_refused']
  return [TOLD.get(signature(decision.error)) ?? `a rule for ${signature(decision.error)}`]
}

/** @param {Unit} unit */
function isRowRefused({ decision }) {
  // A key that is claimed already says nothing about the row.
  if (!decision?.error || decision.error.table) return false
  return ABOUT_A_ROW.includes(TOLD.get(signature(decision.error)) ?? '')
}

/** @param {ServerError} error */
function signature({ severity, code, routine = '' }) {
  return `${severity} ${code} ${routine}`
}

/** @param {Sent[]} sent @param {Server} postgres */
function checkKeys(sent, { tables, units }) {
  for (const key of new Set(sent.flatMap((request) => request.key ?? []))) {
    const answers = sent
      .filter((request) => request.key === key && request.kind !== 'find')
      .map(({ answers: [answer] }) => answer)
    const rows = tables.users.filter(({ email }) => email === `key-${key}@simulated`)
    assert.ok(rows.length <= 1, `key ${key}: ${rows.length} rows`)
    for (const { id } of answers.filter(({ status }) => status === 201)) {
      assert.equal(id, rows[0]?.id, `key ${key}: each 201 is its one row`)
    }
    if (answers.every(({ status, code }) => status !== 201 && code !== 'outcome_unknown')) {
      assert.equal(rows.length, 0, `key ${key}: nobody was told that it may be stored`)
    }
    const isRefused = units.some((unit) => unit.key === String(key) && isRowRefused(unit))
    for (const { status, code } of answers) {
      assert.ok(isRefused || !ABOUT_A_ROW.includes(code), `key ${key}: told that its row is refused, which nobody said`)
      assert.ok(
        status === 201 || [...ABOUT_A_ROW, 'database_refused', 'outcome_unknown', ...NOT_SENT].includes(code),
        `key ${key}: told ${code}`,
      )
    }
  }
}
