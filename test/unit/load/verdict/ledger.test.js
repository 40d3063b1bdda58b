import t from 'tap'
import { ledgerOf, sharedCore, statementsInFlight } from '../../../../load/verdict/ledger.js'

const core = (/** @type {number} */ busy_ratio) => ({ busy_ratio, interrupts_ratio: 0.1, steal_ratio: 0 })

/** 1,000 requests/s for 2 s, on two cores. @param {object} [probes] */
function trial(probes = {}) {
  return /** @type {any} */ ({
    target: { cores: '0' },
    settings: { INSERT_MODE: 'batched', POOL_MAX: 20 },
    traffic: { completed: 2000, achieved_rps: 1000 },
    probes: {
      api: { main_core_ratio: 0.4, pool_used_mean: 1, statements: 200, statement_mean_ms: 6 },
      postgres: { cpu_core_ratio: 0.2, cores: '1' },
      generator: { cpu_core_ratio: 0.5, cores: '1' },
      kernel: { cores: { 0: core(0.4), 1: core(0.7) }, disk: { busy_ratio: 0.05, flush_ratio: 0.3 } },
      ...probes,
    },
  })
}

t.test('what a request costs on several cores counts each of them', async (t) => {
  const cores = { 0: core(0.4), 1: core(0.5), 2: core(0.5), 3: core(0.5) }
  const kernel = /** @type {any} */ ({ cores })
  const rowOf = (/** @type {string} */ own) => {
    const rows = ledgerOf(trial({ kernel, generator: {}, postgres: { cpu_core_ratio: 0.4, cores: own } }))
    return rows.find(({ resource }) => resource.startsWith(`core ${own} `))
  }
  const [one, three] = [rowOf('1'), rowOf('1-3')]
  t.equal(Math.round(Number(one?.demand_us)), 600)
  t.equal(Math.round(Number(three?.demand_us)), 1800)
  t.strictSame([one?.servers, three?.servers], [1, 3], 'so both are full at the same rate')
})

t.test(
  'a ledger gives each resource its utilization, its demand per request and its servers, the busiest first',
  async (t) => {
    const rows = ledgerOf(trial()).map(({ resource, utilization, demand_us, servers }) => {
      return [resource, Number(utilization.toFixed(3)), Math.round(demand_us), servers]
    })
    t.strictSame(rows, [
      ['core 1 (Postgres and the generator)', 0.8, 800, 1],
      ['one shared statement at a time', 0.6, 600, 1],
      ['core 0 (the service)', 0.5, 500, 1],
      ['the generator alone', 0.5, 500, 1],
      ["the service's main thread", 0.4, 400, 1],
      ["the disk's flushes", 0.3, 300, 1],
      ['Postgres alone', 0.2, 200, 1],
      ['the database pool', 0.05, 1000, 20],
      ['the busiest disk', 0.05, 50, 1],
    ])
  },
)

t.test('what a request costs a quota is CPU time, and what it costs a pool is the time on a connection', async (t) => {
  const rowOf = (/** @type {string} */ name, /** @type {object} */ probes, settings = {}) =>
    ledgerOf({ ...trial(probes), settings }).find(({ resource }) => resource === name)
  const half = { cpu_core_ratio: 0.25, quota_cores: 0.5 }
  t.match(rowOf("the service's CPU quota", { api: half }), { demand_us: 250, servers: 0.5 })
  t.match(rowOf("Postgres' CPU quota", { postgres: half }), { demand_us: 250, servers: 0.5 })
  const api = { pool_used_mean: 5, pool_max: 10 }
  t.match(rowOf('the database pool', { api }, { POOL_MAX: 20 }), { demand_us: 5000, servers: 20 })
  t.match(rowOf('the database pool', { api }), { demand_us: 5000, servers: 10 }, "Hikari's, known from its page")
})

t.test('the disk of the lab is charged only to what runs on its machine', async (t) => {
  const { kernel, postgres } = trial().probes
  const hasDisk = (/** @type {object} */ probes) =>
    ledgerOf(trial(probes)).some(({ resource }) => resource === 'the busiest disk')
  t.ok(hasDisk({}), 'Postgres is here')
  const api = { cpu_core_ratio: 0.4, cpu_s: 0.8 }
  t.ok(hasDisk({ api, postgres: {} }), 'a service here, with a database that nobody looked at')
  t.notOk(hasDisk({ api: { cpu_core_ratio: 0.4 }, postgres: {} }), 'a service whose page told of its CPU time')
  t.notOk(hasDisk({ api: {}, postgres: {} }), 'a service elsewhere')
  t.notOk(hasDisk({ api, postgres: { connections: 20 } }), 'a database elsewhere')
  t.notOk(hasDisk({ api, postgres: {}, here: kernel }), 'a service on another host')
  t.ok(hasDisk({ postgres, here: kernel }), 'a service on another host, with its Postgres here')
})

t.test('a ledger contains only what could be seen', async (t) => {
  const several = trial({ api: { statements: 200, statement_mean_ms: 11 } }).probes
  t.notOk(
    ledgerOf({ ...trial(), probes: several }).some(({ resource }) => resource === 'one shared statement at a time'),
    'statements that overlap',
  )
  const nothing = { api: {}, postgres: {}, generator: {}, kernel: {} }
  t.strictSame(ledgerOf(trial(nothing)), [])
  t.strictSame(ledgerOf({ ...trial(), traffic: { completed: 0, achieved_rps: 0 } }), [], 'nothing completed')
  const apart = ledgerOf(trial({ generator: { cpu_core_ratio: 0.5, cores: '2' } })).map(({ resource }) => resource)
  t.ok(apart.includes('core 1 (Postgres)'))
  t.notOk(apart.includes('the generator alone'), 'a generator on a core of its own costs the target nothing')
  const quotas = trial({
    api: { cpu_core_ratio: 0.25, quota_cores: 0.5 },
    postgres: { cpu_core_ratio: 0.3, quota_cores: 0.4, cores: '1' },
  })
  const shares = Object.fromEntries(ledgerOf(quotas).map(({ resource, utilization }) => [resource, utilization]))
  t.equal(shares["the service's CPU quota"], 0.5)
  t.ok(Math.abs(shares["Postgres' CPU quota"] - 0.75) < 1e-9)
})

t.test('the generator’s share of a core counts only where Postgres runs on that core, too', async (t) => {
  t.match(sharedCore(trial().probes), { cores: '1', generator_share: 0.5 })
  t.equal(sharedCore(trial({ generator: { cpu_core_ratio: 0.5, cores: '0' } }).probes), null, 'another core')
  t.equal(sharedCore(trial({ generator: { cores: '1' } }).probes), null, 'unknown CPU time')
  t.equal(sharedCore({}), null, 'an older record')
  const wide = { postgres: { cores: '1-2' }, generator: { cpu_core_ratio: 1, cores: '1-2' } }
  const core = { busy_ratio: 0.6, interrupts_ratio: 0, steal_ratio: 0 }
  t.match(
    sharedCore(trial({ ...wide, kernel: { cores: { 1: core, 2: { ...core, busy_ratio: 0.8 } } } }).probes),
    { utilization: 0.7, generator_share: 0.5 },
    'the mean of two cores',
  )
})

t.test('statements in flight follow from counters by Little’s law', async (t) => {
  t.equal(statementsInFlight(trial()), 0.6)
  t.equal(statementsInFlight(trial({ api: {} })), null)
})
