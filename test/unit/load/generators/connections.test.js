import t from 'tap'
import { connectionsFor, mostConnections } from '../../../../load/generators/connections.js'
import { UNBOUNDED_MS } from '../../../../load/report/slo.js'
import { addressOf } from '../../../../load/targets/index.js'

const slo = { p99_ms: 100, success_ratio: 1 }

t.test('a trial gets more connections than Little’s law says that it can use', (t) => {
  const rows = [
    [{ connections: [], connections_max: 20_000, slo }, 10_000, 1200, 1200],
    [{ connections: [], connections_max: 20_000, slo: { ...slo, p99_ms: 5000 } }, 1000, 6000, 6000],
    [{ connections: [], connections_max: 20_000, slo }, 100, 64, 12],
    [{ connections: [], connections_max: 800, slo }, 10_000, 800, 1200],
    [{ connections: [], connections_max: 20_000, target_connections_max: 1000, slo }, 10_000, 1000, 1200],
    [{ connections: [], connections_max: 20_000, target_connections_max: 30, slo }, 100, 30, 12],
    [{ connections: [256], slo }, 10_000, 256, 1200],
    [{ connections: [256], slo }, 1000, 256, 120],
    [{ connections: [256], connections_max: 20_000, slo }, 10_000, 1200, 1200],
  ]
  for (const [plan, rate_rps, connections, connections_needed] of /** @type {[any, number, number, number][]} */ (
    rows
  )) {
    t.strictSame(connectionsFor({ timeout_s: 10, ...plan }, rate_rps), { connections, connections_needed })
  }
  t.strictSame(
    connectionsFor({ connections: [64], slo: { ...slo, p99_ms: 5000 }, timeout_s: 5 }, 1000),
    { connections: 64 },
    'any answer within the timeout will do',
  )
  t.end()
})

t.test('a search knows how many connections it needs, even if any answer within the timeout will do', (t) => {
  const plan = { connections: [64], timeout_s: 5, searches: true }
  const needed = { connections: 64, connections_needed: 6000 }
  const unbounded = { p99_ms: UNBOUNDED_MS, success_ratio: 0.999 }
  t.strictSame(connectionsFor({ ...plan, slo: unbounded }, 1000), needed, 'no bound on a latency')
  t.strictSame(connectionsFor({ ...plan, slo: { ...slo, p99_ms: 5000 } }, 1000), needed, 'one as long as the timeout')
  const compared = { ...plan, slo: unbounded, sides: {} }
  t.strictSame(connectionsFor(compared, 1000), { connections: 64 }, 'both sides of a comparison get the same number')
  t.end()
})

t.test('an entry that may take longer than the others needs more connections, by its share of the requests', (t) => {
  const entries = [
    { name: 'read', weight: 3 },
    { name: 'report', weight: 1 },
  ]
  const plan = { connections: [], connections_max: 20_000, timeout_s: 10, mix: { entries } }
  const needed = (/** @type {any} */ by_entry) =>
    connectionsFor(/** @type {any} */ ({ ...plan, slo: { ...slo, by_entry } }), 1000).connections_needed
  t.equal(needed({ report: { p99_ms: 2100 } }), 1.2 * 1000 * (0.1 + 0.25 * 2), 'a quarter may take 2 s longer')
  t.equal(needed({ report: { p99_ms: 50 } }), 120, 'one that is faster does not need fewer')
  t.equal(needed({ read: { success_ratio: 0.9 } }), 120, 'one without a bound needs as many as the others')
  t.end()
})

t.test('each load host and each address has ports of its own', (t) => {
  const one = mostConnections({})
  t.ok(one > 0)
  t.equal(mostConnections({ load_hosts: ['a', 'b'] }), 2 * one)
  t.ok(mostConnections({ local_addresses: ['127.0.0.2', '127.0.0.3'] }) >= one)
  t.end()
})

t.test('only connections to a service of ours on this machine are opened ahead', async (t) => {
  const opensAhead = (/** @type {any} */ kind) => !addressOf({ kind, url: 'http://127.0.0.1/' }).on_demand
  t.strictSame(['local', 'url', 'started', 'ssh'].map(opensAhead), [true, false, false, false])
})
