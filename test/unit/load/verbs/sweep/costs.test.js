import t from 'tap'
import { costBlocks } from '../../../../../load/verbs/sweep/costs.js'

/** A passing trial, whose service used a share of its core. @param {number} rate_rps @param {number} busy_ratio @param {object} [probes] */
function record(rate_rps, busy_ratio, probes = {}) {
  const cores = { 0: { busy_ratio, interrupts_ratio: 0, steal_ratio: 0 } }
  return /** @type {any} */ ({
    ...{ at: { phase: 'search' }, cell: null },
    target: { cores: '0' },
    settings: {},
    load: { rate_rps },
    traffic: { achieved_rps: rate_rps, completed: 2 * rate_rps },
    probes: { api: {}, postgres: {}, generator: {}, kernel: { cores }, ...probes },
    outcome: { verdict: 'pass' },
  })
}

const capacity = /** @type {any} */ ({ low_rps: 1000, high_rps: 1100 })

t.test('the costs near the capacity are medians, and rates far from it do not count', async (t) => {
  const records = [record(1000, 0.8), record(1000, 0.9), record(1100, 0.99), record(100, 0.01)]
  const [, about, table] = /** @type {any[]} */ (costBlocks({ capacity, records }))
  t.match(
    about.text,
    /^Medians of 3 trials near the capacity\. Beyond it, a request usually costs more, so a resource /,
  )
  t.notMatch(about.text, /pool|alone/, 'neither has a row')
  t.strictSame(table.rows, [['core 0 (the service)', '90 %', '900.0 us', '1,110/s']])
})

t.test('the bias of the sampler is stated where counters exist', async (t) => {
  const api = { statements: 200, statement_mean_ms: 6 }
  const seen = record(1000, 0.8, { api, postgres: { active_mean: 0.4 } })
  const texts = costBlocks({ capacity, records: [seen] }).flatMap((block) => (block.kind === 'text' ? block.text : []))
  t.match(
    texts.at(-1),
    "saw 0.40 active statements on average; by the service's own counters 0.60 were in flight, including the time in transit.",
  )
})

t.test('what the machine waited for besides its cores is said where it is felt', async (t) => {
  const cores = { 0: { busy_ratio: 0.8, interrupts_ratio: 0, steal_ratio: 0 } }
  const last = (/** @type {object} */ pressures) => {
    const blocks = costBlocks({ capacity, records: [record(1000, 0.8, { kernel: { cores, ...pressures } })] })
    return /** @type {any} */ (blocks.at(-1))
  }
  t.equal(
    last({ pressure_io_ratio: 0.25, pressure_memory_ratio: 0.04 }).text,
    'Some task on the machine waited for the disk 25 % of the time, and for memory 4 % of the time (pressure stall information).',
  )
  t.equal(last({ pressure_io_ratio: 0.01, pressure_memory_ratio: 0 }).kind, 'table')
})

t.test('without trials near the capacity there is nothing to show', async (t) => {
  t.strictSame(costBlocks({ capacity, records: [record(100, 0.5)] }), [])
  t.strictSame(costBlocks({ capacity: null, records: [record(1000, 0.5)] }), [])
})

t.test('one trial has no medians, and rows that need an explanation get one', async (t) => {
  const shared = {
    api: { pool_used_mean: 18 },
    postgres: { cpu_core_ratio: 0.6, cores: '0' },
    generator: { cpu_core_ratio: 0.3, cores: '0' },
  }
  const one = { ...record(1000, 0.9), settings: { POOL_MAX: 20 } }
  const seen = { ...one, probes: { ...one.probes, ...shared } }
  const [, about] = /** @type {any[]} */ (costBlocks({ capacity, records: [seen] }))
  t.match(about.text, /^One trial near the capacity\./)
  t.match(about.text, "The pool's time per request is shared by its 20 connections.")
  t.match(
    about.text,
    /A row with "alone" counts one program on a core that it shares; .* if it had that core to itself\.$/,
  )
})
