import t from 'tap'
import { DETECTORS } from '../../../../load/verdict/detectors/index.js'

/** @import { Test } from 'tap' */

const SLO = { p99_ms: 100, success_ratio: 1 }

/** @typedef {[about: string, changes: any, reach: number, evidence: string[]]} Row */

/** An open loop of 1,000 requests at 500/s, of which nothing is known but what is given. @param {any} changes */
function trial({ target, settings = {}, load, traffic, probes }) {
  return /** @type {any} */ ({
    target: { kind: 'spawned', cores: '0', ...target },
    settings,
    load: { loop: 'open', connections: 64, duration_s: 10, ...load },
    traffic: {
      planned: 1000,
      completed: 1000,
      achieved_rps: 500,
      goodput_rps: 500,
      status: { 201: 1000 },
      errors: {},
      ...traffic,
    },
    probes: { api: {}, postgres: {}, generator: {}, kernel: {}, ...probes },
  })
}

/** @param {Test} t @param {string} resource @param {Row[]} rows */
function check(t, resource, rows) {
  for (const [about, changes, expected, evidence] of rows) {
    const found = DETECTORS[resource](trial(changes), SLO)
    t.ok(Math.abs(found.reach - expected) < 1e-9, `${about}: ${found.reach}, expected ${expected}`)
    t.strictSame(found.evidence, evidence, about)
  }
}

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

t.test('a generator is at its limit when it is late by a tenth of the SLO, or its core is 90 % full', async (t) => {
  const generator = { lateness_ms: { p99: 5 }, cpu_core_ratio: 0.45, run_delay_ratio: 0.1 }
  const used = 'the generator used 45 % of a core and waited for it 10 % of the time'
  check(t, 'generator-cpu', [
    ['5 ms of 10', { probes: { generator } }, 0.5, ['the generator was 5.00 ms late at p99', used]],
    [
      'whose CPU time is not known',
      { probes: { generator: { lateness_ms: { p99: 10 } } } },
      1,
      ['the generator was 10.0 ms late at p99', 'the generator used 0 % of a core and waited for it 0 % of the time'],
    ],
    ['that does not tell how late it was', { probes: { generator: { ...generator, lateness_ms: null } } }, 0, []],
    ['of a closed loop', { load: { loop: 'closed' }, probes: { generator } }, 0.45 / 0.95, [used]],
    [
      'of a closed loop, with one thread, however many cores it may use',
      { load: { loop: 'closed' }, probes: { generator: { ...generator, cores: '1-3' } } },
      0.45 / 0.95,
      [used],
    ],
    [
      'of a closed loop, with several threads',
      { load: { loop: 'closed' }, traffic: { threads: 2 }, probes: { generator: { ...generator, cores: '1-3' } } },
      0.225 / 0.95,
      [used],
    ],
    [
      'of a closed loop, with more threads than cores',
      { load: { loop: 'closed' }, traffic: { threads: 8 }, probes: { generator: { ...generator, cores: '1-2' } } },
      0.225 / 0.95,
      [used],
    ],
  ])
  const load = { connections: 64, connections_needed: 120 }
  const few = (/** @type {string} */ wait) => [
    `the generator had 64 connections, and this rate within this SLO needs 120; requests waited ${wait} for one at p99`,
  ]
  check(t, 'generator-connections', [
    ['a closed loop, in which all are in use', { load: { ...load, loop: 'closed' } }, 0, []],
    ['as many as are needed', { load: { ...load, connections: 120 }, traffic: { queued_ms: { p99: 50 } } }, 0, []],
    ['a wait of half of 10 ms', { load, traffic: { queued_ms: { p99: 5 } } }, 0.5, few('5.00 ms')],
    ['with an unknown wait', { load }, 0, few('0.00 ms')],
    [
      'as many as the target allows',
      { load, settings: { MAX_CONNECTIONS: 64 }, traffic: { queued_ms: { p99: 50 } } },
      0,
      [],
    ],
    ['some were never sent', { load, traffic: { errors: { 'client:unsent': 1 } } }, 1, few('0.00 ms')],
  ])
})

/**
 * Two cores: core 0 is the service's, core 1 that of Postgres and the generator.
 * @param {{ service: number, shared: number, generator: number, postgres: number }} used
 */
function twoCores({ service, shared, generator, postgres }) {
  const core = (/** @type {number} */ busy_ratio) => ({ busy_ratio, interrupts_ratio: 0, steal_ratio: 0 })
  return {
    probes: {
      postgres: { cpu_core_ratio: postgres, cores: '1' },
      generator: { lateness_ms: { p99: 1 }, cpu_core_ratio: generator, cores: '1' },
      kernel: { cores: { 0: core(service), 1: core(shared) } },
    },
  }
}

t.test('a generator that is never late is at its limit where it fills the core that Postgres needs', async (t) => {
  const full = { service: 0.81, shared: 0.9, generator: 0.55, postgres: 0.12 }
  const evidence = [
    "the generator used 55 % of core 1, on which Postgres also runs (12 %): that core was 90 % busy, the service's core 81 %",
  ]
  const reachOf = (/** @type {Partial<typeof full>} */ changes) => {
    return DETECTORS['generator-cpu'](trial(twoCores({ ...full, ...changes })), SLO)
  }
  t.strictSame(reachOf({}), { reach: 1, evidence })
  // Utilizations of failing trials of a sweep whose capacity wrk's closed loop exceeded by a third to a half.
  const known = [
    { service: 0.79, shared: 0.91, generator: 0.56, postgres: 0.11 },
    { service: 0.8, shared: 0.92, generator: 0.57, postgres: 0.15 },
    { service: 0.8, shared: 0.94, generator: 0.59, postgres: 0.12 },
  ]
  for (const used of known) t.ok(reachOf(used).reach >= 1)
  const others = {
    "the service's core is as busy": { service: 0.85, shared: 0.92 },
    'Postgres uses more of the core': { postgres: 0.56, generator: 0.3 },
    'the core would be as full without the generator': { shared: 1, generator: 0.08, postgres: 0.07 },
    'the core has time to spare': { service: 0.5, shared: 0.7 },
  }
  for (const [about, changes] of Object.entries(others)) t.ok(reachOf(changes).reach < 1, about)
})

t.test('a generator that uses most of the cores that everything shares is at its limit, too', async (t) => {
  const core = { busy_ratio: 0.99, interrupts_ratio: 0, steal_ratio: 0 }
  const of = (/** @type {string} */ cores, /** @type {number[]} */ [service, postgres, generator]) =>
    DETECTORS['generator-cpu'](
      trial({
        target: { cores },
        probes: {
          api: { cpu_core_ratio: service },
          postgres: { cpu_core_ratio: postgres, cores },
          generator: { lateness_ms: { p99: 1 }, cpu_core_ratio: generator, cores },
          kernel: { cores: { 0: core, 1: core } },
        },
      }),
      SLO,
    )
  t.strictSame(of('0', [0.3, 0.2, 0.45]), {
    reach: 0.99 / 0.9,
    evidence: [
      'the generator used 45 % of core 0, on which Postgres (20 %) and the service (30 %) also run, 99 % busy in all',
    ],
  })
  t.ok(of('0-1', [0.6, 0.4, 0.95]).reach >= 1, 'two cores, on which nothing was pinned')
  t.ok(of('0', [0.45, 0.2, 0.3]).reach < 1, 'the service uses more')
  t.ok(of('0', [0.2, 0.45, 0.3]).reach < 1, 'Postgres uses more')
})

t.test('a generator that its own CPU quota stops measures itself', async (t) => {
  const of = (/** @type {number} */ throttled_ratio) =>
    DETECTORS['generator-cpu'](
      trial({
        probes: { generator: { lateness_ms: { p99: 1 }, cpu_core_ratio: 0.8, quota_cores: 2, throttled_ratio } },
      }),
      SLO,
    )
  t.strictSame(of(0.5), {
    reach: 10,
    evidence: [
      'the CPU quota of the generator is 2 cores; it was used up, and the generator stopped, 50 % of the time',
    ],
  })
  t.ok(of(0.02).reach < 1, 'a fiftieth of the time')
})

t.test('of several load hosts the one that is furthest behind counts, in a closed loop the fullest', async (t) => {
  const fine = { lateness_ms: { p99: 1 }, planned: 500, sent: 500, start_ms: 20, word_ms: 100, cpu_core_ratio: 0.3 }
  const a = { ...fine, host: 'a', cores: 2 }
  const used = 'the generator on b used 30 % of a core, of 2'
  /** @param {any} b @param {any} [load] */
  const hosts = (b, load) => ({ load, traffic: { hosts: [a, { ...a, host: 'b', ...b }] } })
  const closed = { loop: 'closed' }
  check(t, 'generator-cpu', [
    ['none', { traffic: { hosts: [] } }, 0, []],
    ['equal ones: the first', hosts({}), 0.1, ['a was 1.00 ms late at p99', used.replace('b', 'a')]],
    ['late', hosts({ lateness_ms: { p99: 20 } }), 2, ['b was 20.0 ms late at p99', used]],
    [
      'with requests that it did not send',
      hosts({ lateness_ms: { p99: 20 }, sent: 400 }),
      2,
      ['b was 20.0 ms late at p99', 'b sent 400 of its 500 requests', used],
    ],
    [
      'with an unknown plan',
      hosts({ lateness_ms: { p99: 20 }, sent: 400, planned: undefined }),
      2,
      ['b was 20.0 ms late at p99', used],
    ],
    [
      'on one core',
      hosts({ lateness_ms: { p99: 20 }, cores: null }),
      2,
      ['b was 20.0 ms late at p99', used.slice(0, -6)],
    ],
    [
      'with unknown CPU time',
      hosts({ lateness_ms: { p99: 20 }, cpu_core_ratio: null }),
      2,
      ['b was 20.0 ms late at p99', 'what the generator used on b is not seen'],
    ],
    ['a start late by half a tenth of the trial', hosts({ start_ms: 500 }), 0.5, ['b began 500 ms late', used]],
    [
      'in a short trial, by twice 250 ms',
      hosts({ start_ms: 500 }, { duration_s: 1 }),
      2,
      ['b began 500 ms late', used],
    ],
    ['told late', hosts({ word_ms: 600 }), 0.52, ['b began 520 ms late', used]],
    ['told late and as slow to begin', hosts({ word_ms: 600, start_ms: 500 }), 1, ['b began 1.00 s late', used]],
    ['whose word came at an unknown time', hosts({ word_ms: null, start_ms: 500 }), 0.5, ['b began 500 ms late', used]],
    [
      'as late in its start as in its requests',
      hosts({ start_ms: 500, lateness_ms: { p99: 5 } }),
      0.5,
      ['b was 5.00 ms late at p99', used],
    ],
    [
      'that tells nothing of its start or its lateness',
      { traffic: { hosts: [{ host: 'b', sent: 5, cpu_core_ratio: null }] } },
      0,
      [],
    ],
    ['late in an unknown way', hosts({ start_ms: 500, lateness_ms: null }), 0.5, ['b began 500 ms late', used]],
    [
      'half of 90 % of two cores',
      hosts({ cpu_core_ratio: 0.9 }, closed),
      0.5,
      ['the generator on b used 90 % of a core, of 2'],
    ],
    ['90 % of one', hosts({ cpu_core_ratio: 0.9, cores: null }, closed), 1, ['the generator on b used 90 % of a core']],
    [
      'of unknown CPU time beside a known one',
      hosts({ cpu_core_ratio: null }, closed),
      0.3 / 2 / 0.9,
      [used.replace('b', 'a')],
    ],
  ])
})

t.test('noise is what others use of the cores that belong to the service alone', async (t) => {
  const cores = { 0: { busy_ratio: 0.7, steal_ratio: 0.03 }, 1: { busy_ratio: 1, steal_ratio: 1 } }
  const target = { cores: '0-1' }
  const api = { cpu_core_ratio: 0.46, run_delay_ratio: 0.05 }
  const probes = { api, generator: { cores: '1' }, kernel: { cores } }
  const waited = 'the service waited for its core 5 % of the time'
  const evidence = ["on the service's core 0-1, others used 24 %, and the host took 3 %", waited]
  const ofEach = [
    "on the service's cores 0-1, others used 3 %, and the host took 52 %, on average",
    'the service waited for its core 0 % of the time',
  ]
  const eight = Array.from({ length: 8 }, (_, i) => [i, { busy_ratio: 0.135, interrupts_ratio: 0, steal_ratio: 0.02 }])
  check(t, 'machine-noise', [
    ['not on a core that is shared with the generator', { target, probes }, 2, evidence],
    [
      'what Postgres can use there is not noise',
      { target, probes: { ...probes, postgres: { cores: '0-3', cpu_core_ratio: 0.12 } } },
      1,
      [evidence[0].replace('24 %', '12 %'), waited],
    ],
    [
      'a Postgres on the core of the generator leaves it as it is',
      { target, probes: { ...probes, postgres: { cores: '1', cpu_core_ratio: 0.12 } } },
      2,
      evidence,
    ],
    [
      'a host that takes more than the neighbours',
      { target, probes: { ...probes, kernel: { cores: { 0: { busy_ratio: 0.4, steal_ratio: 0.36 } } } } },
      3,
      ["on the service's core 0-1, others used 0 %, and the host took 36 %", waited],
    ],
    [
      'of several cores, the mean: what others use of one leaves the others; and a generator elsewhere shares none',
      { target: { ...target, kind: 'ssh' }, probes: { ...probes, api: { cpu_core_ratio: 1.64 } } },
      1.03 / 2 / 0.12,
      ofEach,
    ],
    [
      'little of each of eight cores is little',
      {
        target: { kind: 'ssh', cores: '0-7' },
        probes: {
          api: { cpu_core_ratio: 1 },
          generator: { cores: '0-1' },
          kernel: { cores: Object.fromEntries(eight) },
        },
      },
      0.02 / 0.12,
      [ofEach[0].replace('0-1', '0-7').replace('3 %', '1 %').replace('52 %', '2 %'), ofEach[1]],
    ],
    [
      'what Postgres used on the host of the service is not noise',
      {
        target: { ...target, kind: 'ssh' },
        probes: { api: { cpu_core_ratio: 1 }, here: { cores }, kernel: { cores, postgres_core_ratio: 0.64 } },
      },
      1.03 / 2 / 0.12,
      ofEach,
    ],
    ['none where the generator may run on the same cores', { target, probes: { ...probes, generator: {} } }, 0, []],
    [
      'beside a load from other hosts, which share no core with it',
      { target, traffic: { hosts: [] }, probes: { ...probes, generator: {}, api: { cpu_core_ratio: 1.64 } } },
      1.03 / 2 / 0.12,
      ofEach,
    ],
    ['none where its cores are not seen', { target, probes: { ...probes, kernel: { cores: { 7: cores[0] } } } }, 0, []],
    ['none where no core is seen', { target, probes: { ...probes, kernel: {} } }, 0, []],
    ['none where its cores are not known', { target: { cores: null }, probes }, 0, []],
    ['none where its CPU time is not known', { target, probes: { ...probes, api: {} } }, 0, []],
  ])
})

t.test('open files and connections: closed ones reach the limit, used ones come near to it', async (t) => {
  const api = { dropped_connections: 3, connections_max: 90, open_files: 1000 }
  const settings = { NOFILE: '1024', MAX_CONNECTIONS: '100' }
  const limit = "the service's limit of open files is 1,024; 1,000 were open"
  const dropped = '3 connections were closed, since the limit of open files leaves room for 90'
  const near = (1000 / 1024) * 0.89
  const atLimit = { settings, load: { connections: 100, connections_needed: 120 } }
  check(t, 'nofile', [
    ['fewer connections than MAX_CONNECTIONS', { settings, probes: { api } }, 1.003, [dropped, limit]],
    [
      'without MAX_CONNECTIONS, but for files of its own',
      { settings: { NOFILE: '1024' }, probes: { api: { ...api, connections_max: 964 } } },
      1.003,
      [dropped.replace(' 90', ' 964'), limit],
    ],
    [
      'far fewer than the files, without MAX_CONNECTIONS',
      { settings: { NOFILE: '1024' }, probes: { api } },
      near,
      [limit],
    ],
    ['none was closed', { settings, probes: { api: { ...api, dropped_connections: 0 } } }, near, [limit]],
    ['as many as MAX_CONNECTIONS', { settings, probes: { api: { ...api, connections_max: 100 } } }, near, [limit]],
    [
      'the limit of the process, where it was not set',
      { probes: { api: { open_files: 1000, open_files_max: 2000 } } },
      0.445,
      ["the service's limit of open files is 2,000; 1,000 were open"],
    ],
    [
      'no known limit',
      { probes: { api: { open_files: 1000 } } },
      0,
      ["the service's limit of open files is ∞; 1,000 were open"],
    ],
    [
      'more than the limit, which was lowered later',
      { settings: { NOFILE: '500' }, probes: { api: { open_files: 1000 } } },
      0.89,
      ["the service's limit of open files is 500; 1,000 were open"],
    ],
    ['none known to be open', { settings, probes: { api: {} } }, 0, []],
  ])
  check(t, 'max-connections', [
    ['closed for the limit of open files', { settings, probes: { api } }, 0, []],
    [
      'closed for it',
      { settings, probes: { api: { ...api, connections_max: 100 } } },
      1.003,
      ['3 connections were closed, since MAX_CONNECTIONS is 100'],
    ],
    ['none closed', { settings, probes: { api: { connections_max: 100 } } }, 0, []],
    [
      'as many as it allows, but fewer than the rate needs',
      { ...atLimit, traffic: { queued_ms: { p99: 50 }, ok_service_ms: { p99: 90 } } },
      0.99,
      ['MAX_CONNECTIONS is 100, and this rate within this SLO needs 120; requests waited 50.0 ms for one at p99'],
    ],
    [
      'as many as it allows, where requests hardly waited for one',
      { ...atLimit, traffic: { queued_ms: { p99: 5 }, ok_service_ms: { p99: 90 } } },
      0.5,
      ['MAX_CONNECTIONS is 100, and this rate within this SLO needs 120; requests waited 5.00 ms for one at p99'],
    ],
    [
      'as many as it allows, on which requests take too long anyway',
      { ...atLimit, traffic: { queued_ms: { p99: 50 }, ok_service_ms: { p99: 101 } } },
      0,
      [],
    ],
    [
      'as many as it allows, and as many as the rate needs',
      { ...atLimit, load: { connections: 100, connections_needed: 100 }, traffic: { queued_ms: { p99: 50 } } },
      0,
      [],
    ],
    [
      'closed for it, though it is not known',
      { probes: { api: { ...api, open_files_max: 1024 } } },
      1.003,
      ['3 connections were closed, since the service allows 90'],
    ],
    [
      'closed for files of which it keeps some',
      { probes: { api: { ...api, connections_max: 4, open_files_max: 64 } } },
      0,
      [],
    ],
  ])
  const taken = '80 of 100 connections of Postgres were taken'
  const postgres = { connections: 80, connections_max: 100 }
  const problems = { database_unavailable: 100 }
  check(t, 'postgres-connections', [
    ['taken', { probes: { api: {}, postgres } }, 0.712, [taken]],
    [
      'taken, and some requests found none',
      { probes: { api: { problems }, postgres } },
      0.88,
      [taken, '100 requests found no database'],
    ],
    ['of an unknown number', { probes: { api: {}, postgres: {} } }, 0, ['0 of ∞ connections of Postgres were taken']],
  ])
})

t.test('what statements wait for limits where there is room for no further one', async (t) => {
  const waits = { 'Lock:relation': 0.3, 'Lock:tuple': 0.1, 'LWLock:LockManager': 0.2, CPU: 0.4 }
  const text = (/** @type {string} */ room) => {
    return `of ${room}, 40 % waited for a lock (Lock:relation 30 %, Lock:tuple 10 %)`
  }
  check(t, 'postgres-lock', [
    [
      'four fifths of half of them',
      { settings: { POOL_MAX: '10' }, probes: { postgres: { waits, active_mean: 8.5 } } },
      0.8,
      [text('8.5 statements on their way (room for 10)')],
    ],
    [
      'shared statements go one at a time',
      { settings: { POOL_MAX: '10', INSERT_MODE: 'batched' }, probes: { postgres: { waits, active_mean: 0.425 } } },
      0.4,
      [text('0.4 statements on their way (room for 1)')],
    ],
    [
      'of a service whose settings are not known',
      { probes: { postgres: { waits, active_mean: 0.85 } } },
      0.8,
      [text('0.8 statements on their way (room for an unknown number)')],
    ],
    [
      'of a service whose pool is known',
      { probes: { postgres: { waits, active_mean: 0.85 }, api: { pool_max: 10 } } },
      0.08,
      [text('0.8 statements on their way (room for 10)')],
    ],
    [
      'more than half',
      { probes: { postgres: { waits: { 'Lock:tuple': 0.9 }, active_mean: 0.425 } } },
      0.5,
      ['of 0.4 statements on their way (room for an unknown number), 90 % waited for a lock (Lock:tuple 90 %)'],
    ],
    [
      'a few of many statements, whose pool is not known',
      { probes: { postgres: { waits: { 'Lock:tuple': 0.02, CPU: 0.98 }, active_mean: 40 } } },
      0.04,
      ['of 40.0 statements on their way (room for an unknown number), 2 % waited for a lock (Lock:tuple 2 %)'],
    ],
    ['none waited', { probes: { postgres: { waits: { CPU: 1 }, active_mean: 1 } } }, 0, []],
  ])
  const commit = [
    'LWLock:WALWrite',
    'LWLock:WALInsert',
    'LWLock:WALBufMapping',
    'IO:WalSync',
    'IO:WALSync',
    'IO:WalWrite',
    'IO:WALWrite',
    'Timeout:CommitDelay',
    'IPC:SyncRep',
    'IPC:XactGroupUpdate',
  ]
  check(t, 'postgres-commit', [
    ...commit.map(
      (name) =>
        /** @type {Row} */ ([
          name,
          { probes: { api: { pool_max: 1 }, postgres: { waits: { [name]: 0.5, CPU: 0.5 }, active_mean: 0.85 } } },
          1,
          [`of 0.8 statements on their way (room for 1), 50 % waited for the commit (${name} 50 %)`],
        ]),
    ),
    ...['1', undefined].map(
      (cores) =>
        /** @type {Row} */ ([
          `a disk that flushes, of a Postgres ${cores ? 'here' : 'elsewhere'}`,
          {
            traffic: { completed: 2000, achieved_rps: 1000 },
            probes: {
              api: { pool_max: 1 },
              postgres: { cores, waits: { 'IO:WalSync': 1 }, active_mean: 0.85 },
              kernel: { disk: { flushes: 800, flush_ratio: 0.6 } },
            },
          },
          1,
          [
            'of 0.8 statements on their way (room for 1), 100 % waited for the commit (IO:WalSync 100 %)',
            ...(cores ? ['the disk was flushing 60 % of the time, 1.50 ms each'] : []),
          ],
        ]),
    ),
    [
      'of an unknown pool, whose statements also wait where nothing is full',
      { probes: { postgres: { waits: { 'IO:WalSync': 0.6, CPU: 0.4 }, active_mean: 1.2 } } },
      0.89,
      ['of 1.2 statements on their way (room for an unknown number), 60 % waited for the commit (IO:WalSync 60 %)'],
    ],
    [
      'of several shared statements in flight',
      {
        settings: { INSERT_MODE: 'batched' },
        traffic: { completed: 40_000, achieved_rps: 4000 },
        probes: {
          api: { statements: 4000, statement_mean_ms: 25 },
          postgres: { waits: { 'IO:WalSync': 0.6 }, active_mean: 1.2 },
        },
      },
      1.2 / 10 / 0.85,
      ['of 1.2 statements on their way (room for 10), 60 % waited for the commit (IO:WalSync 60 %)'],
    ],
    [
      'reads',
      { probes: { postgres: { waits: { 'IO:DataFileRead': 1, 'LWLock:BufferMapping': 1 }, active_mean: 1 } } },
      0,
      [],
    ],
  ])
})

t.test('Postgres is at its limit when its cores are full, or its statements compute all the time', async (t) => {
  const core = { busy_ratio: 0.5, interrupts_ratio: 0.1, steal_ratio: 0.2 }
  const postgres = { cores: '1', cpu_core_ratio: 0.4 }
  const probes = { postgres, generator: { cpu_core_ratio: 0.3 }, kernel: { cores: { 1: core } } }
  const text = (/** @type {number} */ used, generator = 30) => {
    return `Postgres used ${used} % of a core; core 1, on which it runs, was 75 % busy (the generator used ${generator} %)`
  }
  /** @param {object} changes */
  const of = (changes) => ({ probes: { ...probes, api: { pool_max: 1 }, postgres: { ...postgres, ...changes } } })
  const computing = { waits: { CPU: 0.9 }, active_mean: 0.85, cpu_core_ratio: 0.6 }
  const waiting = 'of 0.8 statements on their way (room for 1), 90 % waited for nothing but the CPU (CPU 90 %)'
  const idle = { busy_ratio: 0.32, interrupts_ratio: 0, steal_ratio: 0 }
  /** Seven cores, of which a pool of two connections, both of which compute all the time, uses less than a third. @param {string} INSERT_MODE */
  const pooled = (INSERT_MODE) => ({
    settings: { INSERT_MODE, POOL_MAX: 2 },
    traffic: { achieved_rps: 450, completed: 4500 },
    probes: {
      api: { statements: 4500, statement_mean_ms: 4.44 },
      postgres: { cores: '1-7', cpu_core_ratio: 2.1, waits: { CPU: 0.98 }, active_mean: 1.96 },
      generator: { cpu_core_ratio: 0.05 },
      kernel: { cores: Object.fromEntries(Array.from({ length: 7 }, (_, i) => [i + 1, idle])) },
    },
  })
  const busy = 'Postgres used 210 % of a core; core 1-7, on which it runs, was 32 % busy (the generator used 5 %)'
  const busyWaiting = 'of 2.0 statements on their way (room for 2), 98 % waited for nothing but the CPU (CPU 98 %)'
  check(t, 'postgres-cpu', [
    ['a core of which the host leaves less', { probes }, 0.75 / 0.97, [text(40)]],
    ['with a generator whose use is not known', { probes: { ...probes, generator: {} } }, 0.75 / 0.97, [text(40, 0)]],
    ['a core that it uses three tenths of', of({ cpu_core_ratio: 0.3 }), 0.75 / 0.97, [text(30)]],
    ['a core that others fill', of({ cpu_core_ratio: 0.27 }), 0.3, [text(27)]],
    [
      'two cores, of which it uses little each',
      { probes: { ...probes, postgres: { ...postgres, cores: '1-2' }, kernel: { cores: { 1: core, 2: core } } } },
      0.2 / 0.9,
      [text(40).replace('core 1', 'core 1-2')],
    ],
    [
      'on this machine, where the service is elsewhere',
      { probes: { ...probes, kernel: { cores: { 1: { ...core, busy_ratio: 1 } } }, here: { cores: { 1: core } } } },
      0.75 / 0.97,
      [text(40)],
    ],
    ['statements that compute all the time', of(computing), 1, [text(60), waiting]],
    ['a pool of statements that compute, beside whole cores without work', pooled('single'), 0.32 / 0.97, [busy]],
    ['one shared statement at a time that computes beside them', pooled('batched'), 1, [busy, busyWaiting]],
    ['of an unknown pool', { probes: { ...of(computing).probes, api: {} } }, 0.89, [text(60)]],
    ['that nearly do', of({ ...computing, active_mean: 0.8 }), 0.8 / 0.85, [text(60)]],
    ['that are kept from it', of({ ...computing, cpu_core_ratio: 0.59 }), 0.75 / 0.97, [text(59)]],
    ['CPU time that is not known', of({ cpu_core_ratio: undefined }), 0, []],
    ['cores that are not known', of({ cores: undefined }), 0, []],
    ['a core that is not seen', of({ cores: '5' }), 0, []],
    ['no core that is seen', { probes: { ...probes, kernel: {} } }, 0, []],
  ])
})

t.test('a service is busy with garbage, with passwords, with one long piece of work, or with all of it', async (t) => {
  const collected = 'the service spent 10 % of its time in garbage collection'
  const spent = (/** @type {number} */ beside) =>
    `${collected}, and threads other than JavaScript's used ${beside} % of a core`
  const collecting = { gc_ratio: 0.1, cpu_core_ratio: 1, main_core_ratio: 0.9 }
  check(t, 'api-gc', [
    ['and the threads of the collector', { probes: { api: collecting } }, 0.8, [spent(10)]],
    ['threads that hash', { probes: { api: { ...collecting, hashing_mean: 1 } } }, 0.4, [spent(0)]],
    ['threads of another service', { probes: { api: { ...collecting, name: 'java' } } }, 0.4, [collected]],
    ['hardly any that hash', { probes: { api: { ...collecting, hashing_mean: 0.9 } } }, 0.8, [spent(10)]],
    ['unknown threads', { probes: { api: { ...collecting, main_core_ratio: undefined } } }, 0.4, [spent(0)]],
    [
      'figures that contradict each other',
      { probes: { api: { ...collecting, main_core_ratio: 1.1 } } },
      0.4,
      [spent(0)],
    ],
    ['a time that is not known', { probes: { api: { ...collecting, gc_ratio: undefined } } }, 0, []],
  ])
  const quota = { quota_cores: 0.5, throttled_ratio: 0.1 }
  check(t, 'postgres-quota', [
    [
      'twice the twentieth of the time that is allowed',
      { probes: { postgres: quota } },
      2,
      ['the CPU quota of Postgres is 0.5 cores; it was used up, and Postgres stopped, 10 % of the time'],
    ],
    ['a quota of the service', { probes: { api: quota } }, 0, []],
  ])
  check(t, 'api-quota', [
    [
      'twice as much time as requests can bear',
      { probes: { api: quota } },
      2,
      ['the CPU quota of the service is 0.5 cores; it was used up, and the service stopped, 10 % of the time'],
    ],
    ['no quota', { probes: { api: { cpu_core_ratio: 1 } } }, 0, []],
    [
      'a moment on each of the twelve cores that it uses: the kernel adds them up',
      { probes: { api: { quota_cores: 32, cpu_core_ratio: 12, throttled_ratio: 0.06 } } },
      0.1,
      ['the CPU quota of the service is 32 cores; it was used up, and the service stopped, 1 % of the time'],
    ],
  ])
  const hashing = { hashing_mean: 8, cpu_core_ratio: 3, main_core_ratio: 0.5 }
  check(t, 'api-threadpool', [
    [
      'twice as many as threads',
      { probes: { api: hashing } },
      2,
      [
        '8.0 passwords were with the 4 threads of libuv or waited for one',
        'these threads used 250 % of a core, JavaScript 50 %',
      ],
    ],
    ['one for each thread', { probes: { api: { ...hashing, hashing_mean: 4 } } }, 0, []],
    ['one for each of more threads', { probes: { api: { ...hashing, hashing_threads: 8 } } }, 0, []],
    [
      'four for each of fewer threads',
      { probes: { api: { ...hashing, hashing_threads: 2 } } },
      4,
      [
        '8.0 passwords were with the 2 threads of libuv or waited for one',
        'these threads used 250 % of a core, JavaScript 50 %',
      ],
    ],
    ['less work than JavaScript', { probes: { api: { ...hashing, cpu_core_ratio: 0.9 } } }, 0, []],
    [
      'as much work as JavaScript',
      { probes: { api: { ...hashing, cpu_core_ratio: 1 } } },
      2,
      [
        '8.0 passwords were with the 4 threads of libuv or waited for one',
        'these threads used 50 % of a core, JavaScript 50 %',
      ],
    ],
  ])
  const loop = { main_core_ratio: 0.2, run_delay_ratio: 0.1, elu_ratio: 0.4, loop_delay_max_ms: 50 }
  const traffic = { achieved_rps: 100 }
  const busy = (/** @type {number} */ share, /** @type {string} */ each) => [
    `the event loop was busy ${share} % of the time and stood still for up to 50.0 ms`,
    `a request took ${each} ms of its time`,
  ]
  /** @param {object} changes @param {number} [refused] */
  const of = (changes, refused = 0) => {
    return { traffic: { ...traffic, status: { 503: refused } }, probes: { api: { ...loop, ...changes } } }
  }
  check(t, 'api-blocked', [
    ['half of the SLO', of({}), 0.5, busy(40, '3.00')],
    ['one stall in an hour', { ...of({}), load: { duration_s: 3600 } }, 50 / 36_000, busy(40, '3.00')],
    [
      'a loop that only its own page tells of: all CPU time is its own',
      of({ main_core_ratio: undefined, cpu_core_ratio: 1.1, elu_ratio: undefined }),
      1,
      busy(100, '10.0'),
    ],
    ['whose core others use', of({ main_core_ratio: 0.6 }), 0.5, busy(70, '6.00')],
    ['a full loop: by the single request', of({ elu_ratio: 1 }), 0.9, busy(100, '9.00')],
    ['no more than full', of({ main_core_ratio: 1 }), 1, busy(100, '10.0')],
    [
      'a loop that is full of waiting for a core: that is no synchronous work',
      of({ main_core_ratio: 0.3, run_delay_ratio: 0.62, elu_ratio: 0.5 }),
      0.3,
      busy(92, '3.00'),
    ],
    ['of requests that were served', of({ shed: { queue_ms: 300, loop_delay_ms: 200 } }, 500), 0.5, busy(40, '6.00')],
    ['turned away after the client had given up', of({ shed: { queue_ms: 1100 } }, 500), 0.5, busy(40, '6.00')],
    ['none was served', of({ shed: { queue_ms: 1000 } }, 1000), 0, []],
    ['CPU time that is not known', of({ main_core_ratio: undefined }), 0, []],
    [
      'nothing but CPU time is known',
      { traffic, probes: { api: { main_core_ratio: 0.5 } } },
      0,
      [
        'the event loop was busy 50 % of the time and stood still for up to 0.00 ms',
        'a request took 5.00 ms of its time',
      ],
    ],
  ])
  const api = { cpu_core_ratio: 0.62, elu_ratio: 0.54, main_core_ratio: 0.45 }
  const kernel = { cores: { 0: { busy_ratio: 0.66, interrupts_ratio: 0.1, steal_ratio: 0.2 } } }
  const several = 'the service used 62 % of a core, its main thread 45 %'
  const core =
    'the service used 62 % of its core, its main thread 45 %; the core was 95 % busy (interrupts 10 %, taken by the host 20 %)'
  const less = { ...api, cpu_core_ratio: 0.3 }
  check(t, 'api-cpu', [
    ['a core of its own, with interrupts, of which the host leaves less', { probes: { api, kernel } }, 1, [core]],
    [
      'a core that Postgres shares, and uses less',
      { probes: { api, kernel, postgres: { cores: '0', cpu_core_ratio: 0.3 } } },
      1,
      [core],
    ],
    [
      'a core that Postgres shares, and uses more: nearly',
      { probes: { api: less, kernel, postgres: { cores: '0-3', cpu_core_ratio: 2.4 } } },
      0.99,
      [core.replace('62 %', '30 %'), 'Postgres, on the same core, used 36 %'],
    ],
    [
      'a core that the generator shares, and uses more: nearly',
      { probes: { api: less, kernel, generator: { cores: '0', cpu_core_ratio: 0.35 } } },
      0.99,
      [core.replace('62 %', '30 %'), 'the generator, on the same core, used 35 %'],
    ],
    [
      'a core of the same number on another machine',
      { probes: { api: less, kernel, here: kernel, postgres: { cores: '0-3', cpu_core_ratio: 2.4 } } },
      1,
      [core.replace('62 %', '30 %')],
    ],
    [
      'a program that we pinned, whose CPU time lacks the interrupts',
      {
        target: { kind: 'started', cores: '0' },
        probes: { api: { name: 'go', cpu_core_ratio: 0.62, main_core_ratio: 0.5, usable_cores: 1 }, kernel },
      },
      1,
      [
        'go used 62 % of a core (it may use the core), its busiest thread or interpreter 50 %',
        'a thread of it waited for a core 0 % of the time',
        'core 0, which it has to itself, was 95 % busy (interrupts 10 %, taken by the host 20 %)',
      ],
    ],
    [
      'a program beside others on its core',
      {
        target: { kind: 'started', cores: '0' },
        probes: { api: { name: 'go', cpu_core_ratio: 0.09, main_core_ratio: 0.09, usable_cores: 1 }, kernel },
      },
      0.1,
      [
        'go used 9 % of a core (it may use the core), its busiest thread or interpreter 9 %',
        'a thread of it waited for a core 0 % of the time',
      ],
    ],
    ['several cores: the main thread', { target: { cores: '0-1' }, probes: { api, kernel } }, 0.5, [several]],
    ['unknown cores', { target: { cores: null }, probes: { api, kernel } }, 0.5, [several]],
    [
      'a core that is not seen',
      { probes: { api, kernel: {} } },
      0.62 / 0.9,
      ['the service used 62 % of its core, its main thread 45 %'],
    ],
    [
      'an unknown main thread: the event loop',
      { target: { cores: null }, probes: { api: { ...api, main_core_ratio: undefined } } },
      0.6,
      ['the service used 62 % of a core, its main thread 54 %'],
    ],
    [
      'an unknown event loop: the process',
      { target: { cores: null }, probes: { api: { cpu_core_ratio: 0.45 } } },
      0.5,
      ['the service used 45 % of a core'],
    ],
    [
      'threads on an unknown number of cores',
      { target: { cores: null }, probes: { api: { cpu_core_ratio: 1.2 } } },
      0,
      [],
    ],
    [
      'one core used by an unknown number of threads: near the limit at most',
      { target: { cores: null }, probes: { api: { cpu_core_ratio: 0.93 } } },
      0.89,
      ['the service used 93 % of a core'],
    ],
    ['CPU time that is not known', { probes: { api: { elu_ratio: 1 } } }, 0, []],
  ])
})

t.test('a pool is at its limit when requests wait for it or give up', async (t) => {
  const settings = { POOL_MAX: '10', POOL_CONNECT_TIMEOUT_MS: '500' }
  const api = { pool_used_mean: 8.1, pool_waiting_mean: 2, statement_mean_ms: 3 }
  const held = 'a statement held its connection for 3.00 ms'
  const used = (/** @type {string} */ mean, waiting = '2.0') =>
    `${mean} of 10 connections of the pool were in use, and ${waiting} requests waited for one`
  const problems = { no_database_slot: 2 }
  /** @param {object} changes */
  const of = (changes) => ({ settings, probes: { api: { ...api, ...changes } } })
  check(t, 'pool-size', [
    ['used, and waited for', of({}), 0.9, [used('8.1'), held]],
    ['by one', of({ pool_waiting_mean: 1 }), 0.9, [used('8.1', '1.0'), held]],
    ['by hardly any', of({ pool_waiting_mean: 0.9 }), 0.81, [used('8.1', '0.9'), held]],
    [
      'full, but waited for by none',
      of({ pool_waiting_mean: 0, pool_used_mean: 9.9 }),
      0.9,
      [used('9.9', '0.0'), held],
    ],
    ['by requests that gave up', of({ pool_waiting_mean: undefined, problems }), 0.9, [used('8.1', '0.0'), held]],
    ['for an unknown time', of({ statement_mean_ms: undefined }), 0.9, [used('8.1')]],
    ['use that is not known', of({ pool_used_mean: undefined }), 0, []],
    ['a size that is not known', { probes: { api } }, 0, []],
  ])
  const late = '2 requests got no database connection within POOL_CONNECT_TIMEOUT_MS=500'
  check(t, 'pool-timeout', [
    ['none gave up', of({}), 0, []],
    ['some gave up', of({ problems }), 2, [`${late}; on the average 8.1 of 10 connections were in use`]],
    ['use that is not known', { settings, probes: { api: { problems } } }, 2, [late]],
  ])
})

t.test('connections that the kernel turns away, and time that passes on the way', async (t) => {
  const text = (/** @type {string} */ backlog) =>
    `the kernel turned 5 connections away from a full accept queue${backlog}; up to 128 were seen waiting in it`
  const kernel = { listen_overflows: 3, listen_drops: 5, accept_queue_max: 128 }
  check(t, 'accept-queue', [
    [
      'with a known backlog',
      { settings: { LISTEN_BACKLOG: '128' }, probes: { kernel } },
      5,
      [text(' (LISTEN_BACKLOG=128)')],
    ],
    [
      'that the kernel cuts',
      { settings: { LISTEN_BACKLOG: 511 }, probes: { kernel: { ...kernel, somaxconn: 128 } } },
      5,
      [text(' (LISTEN_BACKLOG=511, of which net.core.somaxconn allows 128)')],
    ],
    [
      'that the kernel does not cut',
      { settings: { LISTEN_BACKLOG: 128 }, probes: { kernel: { ...kernel, somaxconn: 128 } } },
      5,
      [text(' (LISTEN_BACKLOG=128)')],
    ],
    ['with an unknown one', { probes: { kernel: { ...kernel, listen_overflows: 5, listen_drops: 3 } } }, 5, [text('')]],
    ['none', { probes: { kernel: { accept_queue_max: 128 } } }, 0, []],
    [
      'whose queue nobody looked at',
      { probes: { kernel: { listen_drops: 5 } } },
      5,
      ['the kernel turned 5 connections away from a full accept queue'],
    ],
  ])
  const segments = '3 of 1,000 segments were sent again'
  const probes = { api: { in_flight_mean: 5, elu_ratio: 0.89 }, kernel: { retransmits: 3, segments_sent: 1000 } }
  const traffic = { ok_latency_ms: { mean: 60 }, latency_ms: { mean: 500 }, queued_ms: { mean: 10 } }
  const passed = (/** @type {string} */ all) =>
    `of ${all} ms from sending to answer, on the average, 10.0 ms passed in the service`
  check(t, 'network', [
    ['four fifths of the time', { traffic, probes }, 1.6, [passed('50.0'), segments]],
    ['half of a short time', { traffic: { ok_latency_ms: { mean: 20 } }, probes }, 0.5, [passed('20.0'), segments]],
    [
      'of all requests, where none succeeded',
      { traffic: { ...traffic, ok_latency_ms: null, latency_ms: { mean: 20 }, queued_ms: null }, probes },
      0.5,
      [passed('20.0'), segments],
    ],
    ['all of it in the service', { traffic: { ok_latency_ms: { mean: 9 } }, probes }, 0, [passed('9.00'), segments]],
    [
      'packets that were dropped',
      { traffic, probes: { ...probes, kernel: { ...probes.kernel, tracking_drops: 7 } } },
      1.6,
      [passed('50.0'), segments, 'connection tracking dropped 7 packets: its table was full (nf_conntrack_max)'],
    ],
    [
      'without counters of the kernel',
      { traffic, probes: { api: { in_flight_mean: 5 }, kernel: {} } },
      1.6,
      [passed('50.0'), '0 of 0 segments were sent again'],
    ],
    ['a full event loop', { traffic, probes: { ...probes, api: { in_flight_mean: 5, elu_ratio: 0.9 } } }, 0, []],
    ['requests in the service that are not counted', { traffic, probes: { ...probes, api: {} } }, 0, []],
    ['no answer', { traffic: { ...traffic, achieved_rps: 0 }, probes }, 0, []],
    ['no latency', { traffic: { ok_latency_ms: null, latency_ms: null }, probes }, 0, []],
  ])
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
