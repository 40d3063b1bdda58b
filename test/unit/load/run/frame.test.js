import t from 'tap'
import { answer, list, method, table } from '../../../../load/report/blocks.js'
import { markdownOf } from '../../../../load/report/markdown.js'
import { terminalOf } from '../../../../load/report/terminal.js'
import { framed } from '../../../../load/run/frame.js'
import { recordOf } from '../../../support/simulated/record.js'

const LOAD = {
  driver: 'paced',
  loop: /** @type {const} */ ('open'),
  rate_rps: 100,
  connections: 8,
  warmup_s: 0.5,
  duration_s: 2,
}
const RECORD = recordOf(
  { experiment: 'made-up', at: { phase: 'one' }, cell: { POOL_MAX: 5 }, load: LOAD },
  { ok_rps: 100, mean_ms: 2 },
)

const RUN = /** @type {any} */ ({
  run_id: 'id',
  verb: 'made-up',
  argv: ['--seed', '7'],
  plan: { url: null, mix: { seed: 7 }, duration_s: 2 },
  started_at: '2026-01-01T00:00:00Z',
  finished_at: '2026-01-01T00:01:00Z',
  machine: { cpu_model: 'a CPU', cores: 2, memory_bytes: 2 ** 33, kernel: 'a kernel' },
  versions: { node: 'v20', driver: 'paced' },
  pinning: 'The API ran on core 0 alone.',
  warnings: ['waiting for a core 60 % of the time', 'a slow disk'],
  not_applied: [{ cell: { NOFILE: 700 }, because: 'no prlimit' }],
  interrupted: true,
  problem: 'the machine was noisy',
})

/** Everything a verb has to supply. @type {any} */
const EXPERIMENT = {
  report: (/** @type {any} */ { found }) => [
    answer(found),
    list(['own finding']),
    table(['a', 'b'], [['x|y', '1']]),
    method(['own method']),
  ],
}

t.test('whose rows were counted is said as the records have it', async (t) => {
  const textOf = (/** @type {any} */ change) => {
    const record = /** @type {any} */ ({ ...RECORD, ...change })
    return markdownOf(framed(EXPERIMENT, { problem: null, found: '' }, RUN, [record]))
  }
  t.match(textOf({}), 'The table is emptied before each trial')
  t.match(textOf({ target: { kind: 'url' } }), 'its rows are not counted, since its database is not ours')
  t.notMatch(textOf({ traffic: { ...RECORD.traffic, rows_stored: null } }), /emptied|not counted/)
})

t.test('how exact a latency is follows from the number of requests, in a closed loop, too', async (t) => {
  const textOf = (/** @type {any} */ load, /** @type {any} */ traffic) => {
    const record = /** @type {any} */ ({
      ...RECORD,
      load: { ...LOAD, ...load },
      traffic: { ...RECORD.traffic, ...traffic },
    })
    return markdownOf(framed(EXPERIMENT, { problem: null, found: '' }, RUN, [record]))
  }
  const many = { planned: 2 ** 20 + 1 }
  t.match(textOf({}, {}), 'p50, p99 and max are exact')
  t.match(textOf({}, many), 'p50, p99 and max are to four digits')
  t.match(textOf({}, { ...many, backlog: undefined }), 'are exact', 'versions that kept every sample')
  t.match(textOf({ loop: 'closed', rate_rps: null }, { ...many, backlog: undefined }), 'are to four digits')
})

t.test(
  'the number of connections is what the rate needs, and where there were fewer, the report says so',
  async (t) => {
    const textOf = (/** @type {[number, number][]} */ ...loads) => {
      const records = loads.map(([connections, connections_needed]) => {
        return /** @type {any} */ ({ ...RECORD, load: { ...LOAD, connections, connections_needed } })
      })
      return markdownOf(framed(EXPERIMENT, { problem: null, found: '' }, RUN, records)).replaceAll(/\s+/g, ' ')
    }
    t.match(textOf([64, 12], [120, 120]), '64 to 120 connections, as many as the rate needs within the SLO)')
    t.match(
      textOf([64, 12], [120, 120], [500, 900]),
      '64 to 500 connections, as many as the rate needs within the SLO, but fewer in 1 of 3 trials)',
    )
  },
)

t.test('the command can be copied into a shell', async (t) => {
  const run = { ...RUN, argv: ['--slo', 'p99<5ms', '--out', 'results/a'] }
  const text = markdownOf(framed(EXPERIMENT, { problem: null, found: 'The answer.' }, run, [RECORD]))
  t.match(text, "Command: `npm run made-up -- --slo 'p99<5ms' --out results/a`")
})

t.test(
  'every report has the problem, all warnings, what was not applied, every trial, the method and the machine',
  async (t) => {
    const blocks = framed(EXPERIMENT, { problem: null, found: 'The answer.' }, RUN, [RECORD])
    const text = markdownOf(blocks)
    const order = [
      'No trustworthy answer: the machine was noisy. The answer.',
      'The run was interrupted',
      'Warning: waiting for a core 60 % of the time.',
      'Warning: a slow disk.',
      'NOFILE=700 could not be applied: no prlimit.',
      'own finding',
      '## Every trial (1)',
      'POOL_MAX=5: 100/s',
      '## How it was measured',
      'own method',
      'Trials of 2 s after 0.5 s of warm-up or more.',
      'The API ran on core 0 alone.',
      'Command: `npm run made-up -- --seed 7`, seed 7.',
      '## Machine and versions',
      'a CPU, 2 cores, 8 GiB, a kernel',
    ]
    const places = order.map((part) => text.indexOf(part))
    t.strictSame(
      order.filter((_, i) => places[i] === -1),
      [],
    )
    t.strictSame(
      places,
      [...places].sort((a, b) => a - b),
      'in this order',
    )
    t.match(text, '| x y |', 'text from outside opens no column')
    const shown = terminalOf(blocks)
    t.match(shown, 'Warning: a slow disk.')
    t.match(shown, 'own finding')
    t.notMatch(shown, 'own method', 'the terminal has no details')
    t.notMatch(shown, 'Every trial')
  },
)

t.test('a run of an older version, without warnings and without trials, is shown as far as it goes', async (t) => {
  const { warnings, not_applied, problem, interrupted, ...older } = RUN
  const text = markdownOf(framed(EXPERIMENT, { problem: null, found: 'Nothing.' }, older, []))
  t.match(text, /^Nothing\.\n\n- own finding/)
  t.notMatch(text, /undefined|NaN|Infinity/)
})
