import { LOGIN_FAULTS, STATEMENT_FAULTS } from '../../support/simulation/faults.js'
import { simulate } from '../../support/simulation/run.js'

/** @import { Request } from '../../support/simulation/run.js' */

/**
 * The same few requests again and again, of which the n-th statement or login fails: for every n, in every way, in every
 * INSERT_MODE. `simulate` compares each answer with what the server did.
 */
const MODES = ['single', 'prepared', 'pipelined', 'batched']

/** Some come alone, some together; two have the same key. */
const REQUESTS = /** @type {Request[]} */ ([
  { at_ms: 0, kind: 'ada' },
  { at_ms: 0, kind: 'ada' },
  { at_ms: 1, kind: 'ada' },
  { at_ms: 1, kind: 'ada', key: 1 },
  { at_ms: 60, kind: 'ada', key: 1 },
])
const SMOOTH = { fault: 'none', execute_ms: 2, commit_ms: 1, split: 0 }

/** @param {string} insertMode @param {'statements' | 'logins'} [what] @param {number} [n] @param {string} [fault] */
async function run(insertMode, what, n = 0, fault = 'none') {
  const plan = { statements: Array(20).fill(SMOOTH), logins: Array(20).fill(SMOOTH) }
  if (what) plan[what][n] = { ...SMOOTH, fault }
  const { sent, counts } = await simulate({
    settings: { insertMode },
    requests: REQUESTS,
    plan,
    storms: [],
    picks: [0],
  })
  const answers = sent.slice(0, REQUESTS.length).map(({ answers: [answer] }) => answer)
  return { counts, told: answers.map(({ status, code }) => (status === 201 ? 'created' : code)) }
}

/** What some request was told, over every n. @param {string} mode @param {'statements' | 'logins'} what @param {number} count @param {string} fault */
async function toldOf(mode, what, count, fault) {
  /** @type {Set<string>} */
  const told = new Set()
  for (let n = 0; n < count; n++) {
    const outcome = await run(mode, what, n, fault).catch((error) => ({ told: [`n = ${n}: ${error.message}`] }))
    for (const one of outcome.told) told.add(one)
  }
  return [...told]
}

/** @type {{ mode: string, counts: { statements: number, logins: number }, untroubled: string[], told: Record<string, string[]> }[]} */
const results = []
for (const mode of MODES) {
  const { counts, told: untroubled } = await run(mode)
  /** @type {Record<string, string[]>} */
  const told = {}
  for (const fault of Object.keys(STATEMENT_FAULTS))
    told[fault] = await toldOf(mode, 'statements', counts.statements, fault)
  for (const fault of Object.keys(LOGIN_FAULTS)) told[fault] = await toldOf(mode, 'logins', counts.logins, fault)
  results.push({ mode, counts, untroubled, told })
}

// Imported last: tap watches each promise, which takes several times as long as the simulation itself.
const { default: t } = await import('tap')

/** What else a request may be told when another one is hit: it waited for a connection, or for the row with its key. */
const ALLOWED = ['created', 'no_database_slot', 'database_unavailable', 'outcome_unknown']

for (const { mode, counts, untroubled, told } of results) {
  t.test(
    `${mode}: each of ${counts.statements} statements and ${counts.logins} logins fails in every way`,
    async (t) => {
      t.strictSame(untroubled, Array(REQUESTS.length).fill('created'), 'without trouble, every request is stored')
      t.ok(counts.statements >= 6, 'statements of a batch, alone, and with a key')
      t.ok(counts.logins >= 2, 'more than one connection')
      t.ok(Object.keys(told).length > 5, 'ways to fail')
      for (const [fault, answers] of Object.entries(told)) {
        const expected = STATEMENT_FAULTS[fault]?.told ?? 'database_unavailable'
        const others = answers.filter((code) => code !== expected && !ALLOWED.includes(code))
        t.strictSame(others, [], `${fault}: no request is told anything else`)
        t.ok(answers.includes(expected), `${fault}: a request is told ${expected}`)
        t.ok(answers.includes('created'), `${fault}: others are stored`)
      }
    },
  )
}
