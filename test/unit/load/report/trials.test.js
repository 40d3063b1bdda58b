import t from 'tap'
import { shortTrialTable, trialTable } from '../../../../load/report/trials.js'

/** A trial of a service at a rate of 100/s. @param {Record<string, number>} status @param {Record<string, number>} errors @param {number} [core] */
function made(status, errors, core) {
  return /** @type {any} */ ({
    ...{ trial: 7, cell: null, load: { loop: 'open', rate_rps: 100 }, outcome: { verdict: 'pass' }, limit: null },
    traffic: {
      ...{ achieved_rps: 99.6, success_ratio: 1, status, errors, rows_stored: null },
      latency_ms: { p50: 1, p95: 2, p99: 3, p999: 4, max: 5 },
    },
    probes: { api: { cpu_core_ratio: core }, postgres: { cpu_core_ratio: 0.1 }, generator: { cpu_core_ratio: 0.2 } },
  })
}

/** The first row of a column. @param {any} block @param {string} name */
function cellOf({ head, rows }, name) {
  return rows[0][head.indexOf(name)]
}

t.test('a terminal shows what went wrong, and nothing that is always the same', async (t) => {
  const usual = ['trial', 'offered', 'achieved', 'success', 'p50', 'p99', 'outcome']
  const rows = /** @type {[string, any, string[]][]} */ ([
    ['all is well', made({ 200: 5, 204: 1 }, {}), usual],
    ['the core is known', made({ 201: 5 }, {}, 0.5), [...usual.slice(0, -1), 'API core', 'outcome']],
    ['refused', made({ 200: 5, 503: 2 }, {}), [...usual.slice(0, -1), 'not 2xx', 'outcome']],
    ['an error', made({ 200: 5 }, { 'server:reset': 1 }), [...usual.slice(0, -1), 'errors', 'outcome']],
  ])
  for (const [name, record, head] of rows) t.strictSame(shortTrialTable([record]).head, head, name)
  const block = shortTrialTable([made({ 200: 5, 503: 2 }, { 'server:reset': 1 })])
  t.equal(cellOf(block, 'not 2xx'), '2 × 503')
  t.equal(cellOf(block, 'errors'), '1 × server:reset')
})

t.test('a trial that does not count is marked', async (t) => {
  const records = [made({ 201: 5 }, {}), made({ 201: 5 }, {})]
  for (const tableOf of [trialTable, shortTrialTable]) {
    const outcomes = tableOf(records, records.slice(1)).rows.map((row) => row.at(-1))
    t.strictSame(outcomes, ['pass', 'pass, not counted: core speed'])
  }
})

t.test('a report shows all of a trial', async (t) => {
  const block = trialTable([made({ 200: 5, 503: 2 }, {}, 0.5)])
  const shown = Object.fromEntries(block.head.map((head) => [head, cellOf(block, head)]))
  t.strictSame(shown, {
    ...{ trial: '7', offered: '100/s', achieved: '100/s', success: '100 %' },
    ...{ p50: '1.00 ms', p95: '2.00 ms', p99: '3.00 ms', 'p99.9': '4.00 ms', max: '5.00 ms' },
    ...{ 201: '0', 'other answers': '5 × 200, 2 × 503', errors: '0' },
    ...{ 'API core': '50 %', Postgres: '10 %', generator: '20 %', 'rows stored': '–', outcome: 'pass' },
  })
})
