import t from 'tap'
import { DETECTORS } from '../../../../../load/verdict/detectors/index.js'
import { check, SLO, trial } from '../../../../support/made-up/detected.js'

/** Times a fault was met. @param {string} key @param {number} number */
const errors = (key, number) => ({ traffic: { errors: { [key]: number } } })

t.test('every resource is named once, those that explain the others first', async (t) => {
  t.strictSame(Object.keys(DETECTORS), [
    'generator-nofile',
    'generator-ports',
    'generator-cpu',
    'machine-noise',
    'rate-limit',
    'api-quota',
    'postgres-quota',
    'nofile',
    'max-connections',
    'postgres-connections',
    'postgres-lock',
    'api-gc',
    'api-threadpool',
    'api-blocked',
    'api-cpu',
    'keep-alive-race',
    'postgres-commit',
    'postgres-cpu',
    'accept-queue',
    'pool-size',
    'pool-timeout',
    'network',
    'generator-connections',
  ])
})

t.test('of a trial of which nothing is known, no detector claims anything', async (t) => {
  for (const [resource, detect] of Object.entries(DETECTORS)) t.equal(detect(trial({}), SLO).reach, 0, resource)
})

t.test('errors that tell of a limit reach it at one in a thousand', async (t) => {
  check(t, 'generator-nofile', [
    ['none', errors('client:ports', 5), 0, []],
    [
      'two of a thousand',
      { ...errors('client:nofile', 2), probes: { generator: { open_files_max: 1024 } } },
      2,
      ['2 of 1,000 requests ended in client:nofile', "the generator's limit of open files is 1024"],
    ],
    [
      'a limit that could not be read',
      errors('client:nofile', 1),
      1,
      ['1 of 1,000 requests ended in client:nofile', "the generator's limit of open files is unknown"],
    ],
  ])
  const ended = '1 of 1,000 requests ended in client:ports'
  const ports = errors('client:ports', 1)
  check(t, 'generator-ports', [
    [
      'of the machine of the service',
      { ...ports, probes: { generator: {}, kernel: { time_wait: 28_000 } } },
      1,
      [ended, '28,000 connections in TIME_WAIT hold their ports'],
    ],
    [
      'of this machine, where the service is elsewhere',
      { ...ports, probes: { generator: {}, kernel: { time_wait: 1 }, here: { time_wait: 5 } } },
      1,
      [ended, '5 connections in TIME_WAIT hold their ports'],
    ],
    ['where that is not counted', ports, 1, [ended, '0 connections in TIME_WAIT hold their ports']],
  ])
  const closed = '3 of 1,000 requests ended in server:closed-idle'
  const idle = errors('server:closed-idle', 3)
  check(t, 'keep-alive-race', [
    [
      'a known timeout',
      { ...idle, settings: { KEEP_ALIVE_TIMEOUT_MS: '5000' } },
      3,
      [closed, 'the service closes idle connections after 5,000 ms'],
    ],
    ['an unknown one', idle, 3, [closed, 'the service closes idle connections']],
    [
      'what came later was reset',
      { traffic: { errors: { 'server:closed-idle': 1, 'server:reset': 5 } } },
      6,
      ['1 of 1,000 requests ended in server:closed-idle, and 5 in server:reset', 'the service closes idle connections'],
    ],
    ['resets alone are no such race', errors('server:reset', 5), 0, []],
    [
      'nor are far more of them',
      { traffic: { errors: { 'server:closed-idle': 1, 'server:reset': 11 } } },
      1,
      ['1 of 1,000 requests ended in server:closed-idle', 'the service closes idle connections'],
    ],
    [
      'a service that is gone closed nothing as idle',
      { traffic: { errors: { 'server:closed-idle': 60, 'server:reset': 5, 'server:refused': 1 } } },
      0,
      [],
    ],
  ])
  check(t, 'rate-limit', [
    ['none refused', {}, 0, []],
    [
      'some refused',
      { traffic: { status: { 201: 995, 429: 5 }, goodput_rps: 499.6 } },
      5,
      ['5 of 1,000 requests were answered 429; 500/s were let through'],
    ],
  ])
})

t.test('few errors reach a limit if they alone made the trial fail', async (t) => {
  const evidence = ['3 of 10,000 requests ended in server:closed-idle', 'the service closes idle connections']
  const few = { planned: 10_000, ok: 9997, latency_ms: { p99: 50 }, errors: { 'server:closed-idle': 3 } }
  check(t, 'keep-alive-race', [
    ['alone', { traffic: few }, 1, evidence],
    ['beside a p99 beyond its bound', { traffic: { ...few, latency_ms: { p99: 101 } } }, 0.3, evidence],
    ['beside other errors', { traffic: { ...few, ok: 9996 } }, 0.3, evidence],
  ])
  const accepting = { p99_ms: 100, success_ratio: 0.999 }
  const { reach } = DETECTORS['keep-alive-race'](trial({ traffic: few }), accepting)
  t.ok(Math.abs(reach - 0.3) < 1e-9, `as many as the SLO accepts: ${reach}`)
})

t.test('errors that the SLO accepts are no limit', async (t) => {
  const slo = { p99_ms: 100, success_ratio: 0.98 }
  const reachOf = (/** @type {string} */ resource, /** @type {any} */ changes, /** @type {any} */ own = slo) =>
    Number(DETECTORS[resource](trial(changes), own).reach.toFixed(6))
  const refused = (/** @type {number} */ number) => ({ traffic: { status: { 201: 1000 - number, 429: number } } })
  const closed = (/** @type {number} */ number) => ({
    settings: { MAX_CONNECTIONS: '100', NOFILE: '1024' },
    probes: { api: { dropped_connections: number, connections_max: 100 } },
  })
  const ofFiles = (/** @type {number} */ number) => ({
    settings: { MAX_CONNECTIONS: '100', NOFILE: '1024' },
    probes: { api: { dropped_connections: number, connections_max: 90 } },
  })
  const late = (/** @type {number} */ number) => ({ probes: { api: { problems: { no_database_slot: number } } } })
  for (const [resource, changes] of /** @type {[string, (number: number) => any][]} */ ([
    ['rate-limit', refused],
    ['pool-timeout', late],
    ['keep-alive-race', (number) => errors('server:closed-idle', number)],
    ['max-connections', closed],
    ['nofile', ofFiles],
  ])) {
    t.equal(reachOf(resource, changes(10)), 0.5, `${resource}: half of those that are accepted`)
    t.ok(reachOf(resource, changes(30)) > 1, `${resource}: more than are accepted`)
    const strict = { ...slo, by_entry: { login: { success_ratio: 1 } } }
    const withLogins = (/** @type {number} */ ok) => {
      const own = changes(10)
      return { ...own, traffic: { ...own.traffic, by_entry: { login: { ok, completed: 10 } } } }
    }
    t.ok(reachOf(resource, withLogins(9), strict) > 1, `${resource}: more than an entry accepts, which fails`)
    t.equal(
      reachOf(resource, withLogins(10), strict),
      0.5,
      `${resource}: errors of other requests than the strict ones`,
    )
  }
  const taken = { problems: { database_unavailable: 10 } }
  const postgres = { connections: 100, connections_max: 100 }
  t.equal(reachOf('postgres-connections', { probes: { api: taken, postgres } }), 0.89)
  t.equal(reachOf('postgres-connections', { probes: { api: taken, postgres } }, SLO), 1.01)
  t.equal(reachOf('generator-ports', errors('client:ports', 1)), 1, "the generator's own errors are never accepted")
})
