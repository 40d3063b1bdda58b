import t from 'tap'
import { check } from '../../../../support/made-up/detected.js'

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
        "8.0 passwords were being hashed on libuv's 4 threads, or waited for one",
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
        "8.0 passwords were being hashed on libuv's 2 threads, or waited for one",
        'these threads used 250 % of a core, JavaScript 50 %',
      ],
    ],
    ['less work than JavaScript', { probes: { api: { ...hashing, cpu_core_ratio: 0.9 } } }, 0, []],
    [
      'as much work as JavaScript',
      { probes: { api: { ...hashing, cpu_core_ratio: 1 } } },
      2,
      [
        "8.0 passwords were being hashed on libuv's 4 threads, or waited for one",
        'these threads used 50 % of a core, JavaScript 50 %',
      ],
    ],
  ])
  const loop = { main_core_ratio: 0.2, run_delay_ratio: 0.1, elu_ratio: 0.4, loop_delay_max_ms: 50 }
  const traffic = { achieved_rps: 100 }
  const busy = (/** @type {number} */ share, /** @type {string} */ each) => [
    `the event loop was busy ${share} % of the time, and blocked for up to 50.0 ms`,
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
      ['the event loop was busy 50 % of the time, and blocked for up to 0.00 ms', 'a request took 5.00 ms of its time'],
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
    [
      'a program without a core of its own that waits for others more than it works',
      {
        target: { kind: 'url', cores: null },
        probes: {
          ...{ api: { name: 'go', cpu_core_ratio: 0.3, main_core_ratio: 0.3, run_delay_ratio: 0.6, usable_cores: 2 } },
          ...{
            generator: { cpu_core_ratio: 0.5 },
            kernel: { cores: { 0: { busy_ratio: 1 }, 1: { busy_ratio: 0.9 } } },
          },
        },
      },
      1,
      [
        'go used 30 % of a core (it may use 2 cores), its busiest thread or interpreter 30 %',
        'a thread of it waited for a core 60 % of the time, while programs other than it and the generator used 110 % of a core',
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
    ['some gave up', of({ problems }), 2, [`${late}; on average 8.1 of 10 connections were in use`]],
    ['use that is not known', { settings, probes: { api: { problems } } }, 2, [late]],
  ])
})
