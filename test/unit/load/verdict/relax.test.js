import t from 'tap'
import { moved, planWith, relaxed, relaxedCell } from '../../../../load/verdict/relax.js'

const SETTINGS = {
  ...{ POOL_MAX: 2, POOL_CONNECT_TIMEOUT_MS: 5, NOFILE: 64, LISTEN_BACKLOG: 1, MAX_CONNECTIONS: 10 },
  KEEP_ALIVE_TIMEOUT_MS: 1000,
}

/** @param {any} resource @param {any} settings @param {object} [kernel] */
function relaxedBy(resource, settings, kernel = {}) {
  return relaxedCell(resource, /** @type {any} */ ({ settings, probes: { kernel } }))
}

t.test('a limit that is a knob of ours is relaxed by one notch, from what was read back', async (t) => {
  const rows = [
    ['pool-size', { POOL_MAX: 8 }],
    ['pool-timeout', { POOL_CONNECT_TIMEOUT_MS: 500 }],
    ['nofile', { NOFILE: 1024 }],
    ['max-connections', { MAX_CONNECTIONS: 160 }],
    ['accept-queue', { LISTEN_BACKLOG: 512 }],
    ['keep-alive-race', { KEEP_ALIVE_TIMEOUT_MS: 65_000 }],
    ['api-threadpool', { CORES: 'all' }],
    ['api-gc', { HEAP: 'large' }],
    ['api-cpu', null],
    ['network', null],
    ['none-reached', null],
    [undefined, null],
  ]
  for (const [resource, cell] of /** @type {any[]} */ (rows))
    t.strictSame(relaxedBy(resource, SETTINGS), cell, resource)
  t.equal(relaxedCell('pool-size', undefined), null, 'nothing is known')
  t.equal(relaxedBy('pool-size', {}), null, 'what was not read back cannot be relaxed')
  t.strictSame(relaxedBy('pool-size', { POOL_MAX: 100 }), { POOL_MAX: 150 }, 'no further than Postgres goes along')
  t.equal(relaxedBy('pool-size', { POOL_MAX: 150 }), null, 'nor where it is there already')
  t.equal(relaxedBy('keep-alive-race', { KEEP_ALIVE_TIMEOUT_MS: 65_000 }), null, 'what is as usual is not the cause')
  t.strictSame(relaxedBy('accept-queue', { LISTEN_BACKLOG: 511 }), { LISTEN_BACKLOG: 65_535 }, 'within its range')
})

t.test("a backlog is not relaxed where the kernel's own bound keeps the queue as short", async (t) => {
  const longest = { LISTEN_BACKLOG: 65_535 }
  for (const [somaxconn, cell] of /** @type {any[]} */ ([
    [128, null],
    [511, null],
    [1000, null],
    [1022, longest],
    [4096, longest],
    [null, longest],
  ]))
    t.strictSame(relaxedBy('accept-queue', { LISTEN_BACKLOG: 511 }, { somaxconn }), cell, `${somaxconn}`)
})

t.test('where a target allows more connections, the generator may open more', async (t) => {
  const plan = { target_connections_max: 100, duration_s: 2 }
  t.strictSame(planWith({ MAX_CONNECTIONS: 1600 }, plan), { ...plan, target_connections_max: 1600 })
  t.strictSame(planWith({ POOL_MAX: 8 }, plan), plan)
  t.strictSame(planWith(null, plan), plan)
})

t.test('the place of a relaxed target differs in that one thing', async (t) => {
  const place = { databaseUrl: 'x', cores: '0', allCores: '0,1', env: { A: '1' }, logFile: 'log', nodeFlags: ['--a'] }
  t.strictSame(relaxed(place, null), place)
  t.strictSame(relaxed(place, { POOL_MAX: 8 }), { ...place, env: { A: '1', POOL_MAX: '8' } })
  t.strictSame(relaxed(place, { NOFILE: 1024 }), { ...place, nofile: 1024 })
  t.strictSame(relaxed(place, { CORES: 'all' }), { ...place, cores: '0,1' })
  const free = { ...place, cores: null, allCores: null }
  t.throws(() => relaxed(free, { CORES: 'all' }), /expected a service that is pinned to one/)
  const { nodeFlags = [] } = relaxed(place, { HEAP: 'large' })
  t.equal(nodeFlags.length, 3)
  t.match(nodeFlags, ['--a', /old-space/, /semi-space/], 'behind the others, so that it counts')
})

t.test('a limit is confirmed where the capacity moves', async (t) => {
  const trial = (/** @type {string | null} */ cell, /** @type {string} */ verdict, goodput_rps = 100) => {
    return /** @type {any} */ ({ cell, outcome: { verdict }, traffic: { goodput_rps } })
  }
  const rows = [
    [true, 'it holds where it did not', [trial(null, 'fail'), trial('x', 'pass'), trial('x', 'pass')]],
    [true, 'it does not hold, but lets clearly more through', [trial(null, 'fail'), trial('x', 'fail', 150)]],
    [false, 'no more than noise', [trial(null, 'fail'), trial('x', 'fail', 110)]],
    [false, 'one of two is no majority', [trial(null, 'fail'), trial('x', 'pass'), trial('x', 'fail')]],
    [false, 'it held before, too', [trial(null, 'pass'), trial('x', 'pass')]],
    [null, 'not relaxed', [trial(null, 'fail')]],
    [null, 'no valid trial', [trial(null, 'fail'), trial('x', 'invalid')]],
  ]
  for (const [expected, about, trials] of /** @type {[any, string, any[]][]} */ (rows))
    t.equal(moved(trials), expected, about)
})
