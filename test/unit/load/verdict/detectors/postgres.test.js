import t from 'tap'
import { check } from '../../../../support/made-up/detected.js'

/** @import { Row } from '../../../../support/made-up/detected.js' */

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
    ['a full pool of computing statements, while whole cores are idle', pooled('single'), 0.32 / 0.97, [busy]],
    [
      'one shared statement at a time that computes all the time, while whole cores are idle',
      pooled('batched'),
      1,
      [busy, busyWaiting],
    ],
    ['of an unknown pool', { probes: { ...of(computing).probes, api: {} } }, 0.89, [text(60)]],
    ['that nearly do', of({ ...computing, active_mean: 0.8 }), 0.8 / 0.85, [text(60)]],
    ['that are kept from it', of({ ...computing, cpu_core_ratio: 0.59 }), 0.75 / 0.97, [text(59)]],
    ['CPU time that is not known', of({ cpu_core_ratio: undefined }), 0, []],
    ['cores that are not known', of({ cores: undefined }), 0, []],
    ['a core that is not seen', of({ cores: '5' }), 0, []],
    ['no core that is seen', { probes: { ...probes, kernel: {} } }, 0, []],
  ])
})
