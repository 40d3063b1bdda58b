import t from 'tap'
import { suspectsOf } from '../../../../load/verdict/dose/suspects.js'

const CORES = { 0: { busy_ratio: 1 }, 1: { busy_ratio: 0.5 } }
const POSTGRES = { commits: 100, cores: '1', cpu_core_ratio: 0.5 }
const SERVICE = { resource: 'api-cpu', of: 'service' }
const GENERATOR = { suspect: 'the generator', resource: 'generator-cpu', of: 'generator' }
const OF_POSTGRES = { suspect: 'Postgres', resource: 'postgres-cpu', of: 'postgres' }

/** @type {[name: string, target: object, postgres: object, suspects: object[]][]} */
const CASES = [
  [
    'here, on a core of its own',
    { kind: 'local', cores: '0' },
    POSTGRES,
    [
      { suspect: 'core 0 (the service)', ...SERVICE, cores: '0' },
      { suspect: 'core 1 (Postgres)', resource: 'postgres-cpu', cores: '1' },
      OF_POSTGRES,
      GENERATOR,
    ],
  ],
  [
    'here, not pinned',
    { kind: 'local', cores: '0-1' },
    { ...POSTGRES, cores: '0-1' },
    [{ suspect: 'the service', ...SERVICE }, OF_POSTGRES, GENERATOR],
  ],
  [
    'here, where no cores are known, as on macOS',
    { kind: 'local', cores: null },
    { commits: 100 },
    [{ suspect: 'the service', ...SERVICE }, GENERATOR],
  ],
  [
    'on another host, on a core of its own; Postgres on a third machine',
    { kind: 'ssh', cores: '0' },
    { commits: 100 },
    [{ suspect: 'core 0 (the service)', ...SERVICE, cores: '0' }, GENERATOR],
  ],
  [
    'on another host, on all its cores',
    { kind: 'ssh', cores: '0-1' },
    { commits: 100 },
    [{ suspect: 'the service', ...SERVICE }, GENERATOR],
  ],
  [
    'on a core on which Postgres may run, too: neither is slowed by its cores',
    { kind: 'local', cores: '0' },
    { cores: '0-3', cpu_core_ratio: 0.5 },
    [{ suspect: 'the service', ...SERVICE }, OF_POSTGRES, GENERATOR],
  ],
  ['already running', { kind: 'url', cores: null }, {}, [GENERATOR]],
  ['already running, whose Postgres is only looked at', { kind: 'url', cores: null }, POSTGRES, [GENERATOR]],
  [
    'started for the run, whose Postgres is only looked at',
    { kind: 'started', cores: '0' },
    POSTGRES,
    [{ suspect: 'core 0 (the service)', ...SERVICE, cores: '0' }, GENERATOR],
  ],
  ['started in a container', { kind: 'started', pid: null, cores: null }, POSTGRES, [GENERATOR]],
]

t.test('what can be slowed follows from where the service and Postgres run', async (t) => {
  for (const [name, target, postgres, suspects] of CASES) {
    const probes = { api: {}, generator: {}, postgres, kernel: { cores: CORES } }
    t.strictSame(suspectsOf({}, /** @type {any} */ ({ target, probes })), suspects, `a service ${name}`)
  }
})

t.test('a process that was named belongs to the service', async (t) => {
  const trial = { target: { kind: 'url', cores: null }, probes: { api: {}, generator: {}, postgres: {}, kernel: {} } }
  t.strictSame(suspectsOf({ pids: [{ pid: 7, name: 'nginx' }] }, /** @type {any} */ (trial)), [
    { suspect: 'process 7 (nginx)', resource: 'api-cpu', pid: 7 },
    GENERATOR,
  ])
})
