import Papa from 'papaparse'
import t from 'tap'
import { secondsCsv, trialsCsv } from '../../../../load/report/csv.js'

const TRAFFIC = {
  ...{
    achieved_rps: 98.5,
    goodput_rps: 90,
    success_ratio: 0.9,
    status: { 201: 9, 503: 1 },
    errors: {},
    rows_stored: 9,
  },
  ...{
    latency_ms: { p50: 1.5, p99: 20 },
    per_second: [
      { completed: 6, ok: 5 },
      { completed: 4, ok: 4 },
    ],
  },
}
/** @param {object} [changes] @returns {any} */
const trial = (changes = {}) => ({
  ...{
    trial: 1,
    started_at: '2026-11-23T00:00:00.000Z',
    at: { phase: 'ladder' },
    cell: { POOL_MAX: 4 },
    traffic: TRAFFIC,
  },
  load: { driver: 'paced', loop: 'open', rate_rps: 100, connections: 8, duration_s: 2 },
  probes: { api: { cpu_core_ratio: 0.25 } },
  outcome: { verdict: 'fail', because: '9 of 10 succeeded, "all" expected\nand more' },
  limit: { resource: 'api-cpu' },
  ...changes,
})
/** @param {string} text @returns {any[]} */
const read = (text) => Papa.parse(text.trimEnd(), { header: true }).data

t.test('a row for each trial, with what is unknown left empty', async (t) => {
  const [row, second, ...rest] = read(trialsCsv([trial(), trial({ trial: 2, probes: {}, limit: undefined })]))
  t.strictSame(rest, [])
  t.match(row, {
    ...{ trial: '1', phase: 'ladder', cell: 'POOL_MAX=4', offered_rps: '100', p50_ms: '1.5', p99_ms: '20', max_ms: '' },
    ...{
      statuses: '201: 9; 503: 1',
      errors: '',
      api_cpu_core_ratio: '0.25',
      postgres_cpu_core_ratio: '',
      limit: 'api-cpu',
    },
    because: '9 of 10 succeeded, "all" expected\nand more',
  })
  t.strictSame([second.trial, second.api_cpu_core_ratio, second.limit], ['2', '', ''])
})

t.test('a row for each second', async (t) => {
  t.equal(secondsCsv([trial()]), 'trial,second,completed,ok\n1,0,6,5\n1,1,4,4\n')
})

t.test('nothing that a service answers becomes a formula', async (t) => {
  const [row] = read(trialsCsv([trial({ outcome: { verdict: 'fail', because: '=HYPERLINK("http://a.test")' } })]))
  t.equal(row.because, '\'=HYPERLINK("http://a.test")')
})

t.test('seconds of the load after the last answer are rows of zeros', async (t) => {
  const load = { ...trial().load, duration_s: 4 }
  const rows = read(secondsCsv([trial({ load })])).map(({ second, completed, ok }) => [second, completed, ok])
  t.strictSame(rows, [
    ['0', '6', '5'],
    ['1', '4', '4'],
    ['2', '0', '0'],
    ['3', '0', '0'],
  ])
})
