import t from 'tap'
import { named, preflight, preflightOfHost, sentenceOf } from '../../../../../load/verdict/preflight/preflight.js'

/** A machine on which all is well. */
const FINE = {
  generator_nofile: { soft: 20_000, hard: 20_000 },
  api_nofile: { soft: 20_000, hard: 20_000 },
  ephemeral_ports: 28_232,
  time_wait: 0,
  tw_reuse: 2,
  somaxconn: 4096,
  database_connections: { max: 200, reserved: 3, used: 1 },
  cores: { allowed: 1, pinned: { api: '0', others: '1' } },
  cpu_quota_cores: Number.POSITIVE_INFINITY,
  steal_ratio: 0,
  busy: [
    { core: '0', ratio: 0.02 },
    { core: '1', ratio: 0 },
  ],
  busiest: /** @type {object[]} */ ([]),
  pressure_ratio: 0.01,
  ceiling: { ceiling_rps: 50_000, generator_core_ratio: 0.99, server_core_ratio: 0.8, bound_by: 'generator' },
}

const PLAN = {
  connections: 64,
  pool_max: 20,
  rate_rps: 10_000,
  backlog: 511,
  fresh_connections: false,
  timeout_s: 10,
}

const UNSEEN = Object.fromEntries(Object.keys(FINE).map((name) => [name, null]))
const FRESH = { fresh_connections: true }
const BY_SERVER = { ceiling_rps: 50_000, generator_core_ratio: 0.7, server_core_ratio: 0.99, bound_by: 'server' }
const BY_NEITHER = { ceiling_rps: 9000, generator_core_ratio: 0.4, server_core_ratio: 0.4, bound_by: 'neither' }
const limits = (/** @type {number} */ soft, hard = soft) => ({ soft, hard })
const used = (/** @type {number} */ number) => ({ database_connections: { max: 200, reserved: 3, used: number } })

/** @param {object} facts @param {object} plan */
function findings(facts = {}, plan = {}) {
  return preflight(/** @type {any} */ ({ ...FINE, ...facts }), { ...PLAN, ...plan })
}

const rows = [
  ['generator-nofile', 'ok', 'room for the connections and for Node itself', { generator_nofile: limits(96) }, {}],
  ['generator-nofile', 'bad', 'one file too few', { generator_nofile: limits(95) }, {}],
  ['generator-nofile', 'ok', 'a low soft limit, which Node raises', { generator_nofile: limits(64, 1024) }, {}],
  [
    'generator-nofile',
    'ok',
    'rate x timeout counts for nothing where connections are kept',
    { generator_nofile: limits(1024) },
    {},
  ],
  ['generator-nofile', 'warn', 'a connection per request: rate x timeout of them', {}, FRESH],
  ['generator-nofile', 'ok', 'a connection per request at a low rate', {}, { ...FRESH, rate_rps: 100 }],
  ['api-nofile', 'ok', 'room for clients, pool and the API itself', { api_nofile: limits(142) }, {}],
  ['api-nofile', 'bad', 'one file too few', { api_nofile: limits(141) }, {}],
  ['api-nofile', 'bad', 'a pool that takes them', { api_nofile: limits(142) }, { pool_max: 21 }],
  ['ports', 'ok', 'as many as connections', { ephemeral_ports: 64 }, {}],
  ['ports', 'warn', 'as many, some of them in TIME_WAIT', { ephemeral_ports: 64, time_wait: 1 }, {}],
  ['ports', 'bad', 'fewer', { ephemeral_ports: 63 }, {}],
  ['ports', 'ok', 'fewer, on each of two addresses', { ephemeral_ports: 32 }, { addresses: 2 }],
  ['ports', 'bad', 'too few on both', { ephemeral_ports: 31 }, { addresses: 2 }],
  ['ports', 'ok', 'TIME_WAIT cannot be seen', { time_wait: null }, {}],
  ['ports-per-request', 'ok', 'a minute of requests', {}, { ...FRESH, rate_rps: 470 }],
  ['ports-per-request', 'warn', 'more than a minute of requests, with reuse', {}, { ...FRESH, rate_rps: 471 }],
  ['ports-per-request', 'ok', 'a minute on each of two addresses', {}, { ...FRESH, rate_rps: 941, addresses: 2 }],
  ['ports-per-request', 'bad', 'more than a second of requests, with reuse', {}, { ...FRESH, rate_rps: 28_233 }],
  [
    'ports-per-request',
    'bad',
    'reuse here alone, and the service elsewhere',
    {},
    { ...FRESH, rate_rps: 471, loopback: false },
  ],
  ['ports-per-request', 'bad', 'no reuse', { tw_reuse: 0 }, { ...FRESH, rate_rps: 471 }],
  ['ports-per-request', 'ok', 'a rate that is not known yet', {}, { ...FRESH, rate_rps: null }],
  ['backlog', 'ok', 'room for all connections at once', {}, { connections: 511 }],
  ['backlog', 'warn', 'more connections than fit', {}, { connections: 512 }],
  ['backlog', 'ok', 'connections that do not come at once', {}, { connections: 512, at_once: 64 }],
  ['backlog', 'warn', 'a backlog that the kernel cuts', { somaxconn: 128 }, {}],
  ['backlog', 'unseen', 'a service that does not tell its backlog', {}, { backlog: null }],
  ['pool', 'ok', 'room, with some to spare', used(173), {}],
  ['pool', 'warn', 'room, and none for whoever looks', used(174), {}],
  ['pool', 'bad', 'too few', used(178), {}],
  ['cores', 'ok', 'pinned', {}, {}],
  ['cores', 'warn', 'cores enough, and no taskset', { cores: { allowed: 4, pinned: null } }, {}],
  ['cores', 'bad', 'one core', { cores: { allowed: 1, pinned: null } }, {}],
  ['cpu-quota', 'ok', 'a quota of all cores', { cpu_quota_cores: 2 }, {}],
  ['cpu-quota', 'warn', 'of some', { cpu_quota_cores: 2.5, cores: { allowed: 4, pinned: null } }, {}],
  ['cpu-quota', 'bad', 'of less than two', { cpu_quota_cores: 1.5 }, {}],
  ['steal', 'ok', 'none to speak of', { steal_ratio: 0.01 }, {}],
  ['steal', 'warn', 'some', { steal_ratio: 0.05 }, {}],
  ['steal', 'bad', 'more than the answer’s precision', { steal_ratio: 0.06 }, {}],
  ['other-processes', 'warn', 'one core a little busy', { busy: [{ core: '1', ratio: 0.2 }] }, {}],
  [
    'other-processes',
    'bad',
    'one core busy',
    {
      busy: [
        { core: '0', ratio: 0 },
        { core: '1', ratio: 0.9 },
      ],
    },
    {},
  ],
  ['pressure', 'warn', 'others waited for cores', { pressure_ratio: 0.9 }, {}],
  ['generator-ceiling', 'ok', 'a rate of 0.8 of it', {}, { rate_rps: 40_000 }],
  ['generator-ceiling', 'bad', 'a rate above that', {}, { rate_rps: 40_001 }],
  ['generator-ceiling', 'ok', 'a rate that is not known yet', {}, { rate_rps: null }],
  ['generator-ceiling', 'warn', 'the server was full first', { ceiling: BY_SERVER }, { rate_rps: 50_000 }],
  ['generator-ceiling', 'bad', 'nobody has shown that it can', { ceiling: BY_SERVER }, { rate_rps: 50_001 }],
  ['generator-ceiling', 'ok', 'others had the cores, and it did enough', { ceiling: BY_NEITHER }, { rate_rps: 7000 }],
  ['generator-ceiling', 'warn', 'others had the cores', { ceiling: BY_NEITHER }, { rate_rps: 60_000 }],
  ['generator-ceiling', 'bad', 'it could not be measured', { ceiling: { failed: 'no files' } }, {}],
]

t.test('a finding on CPU use names the busiest programs', async (t) => {
  const busiest = [{ name: 'chrome', pid: 4711, core_ratio: 0.18 }]
  const found = findings({ busy: [{ core: '1', ratio: 0.2 }], busiest })
  t.equal(
    found.find(({ check }) => check === 'other-processes')?.value,
    '20 % of a core (core 1: 20 %; chrome (pid 4711) 18 %), expected at most 5 %',
  )
})

t.test(
  'a report says what other programs did when the run began, and gives no advice that comes too late',
  async (t) => {
    const found = findings({ busy: [{ core: '1', ratio: 0.2 }], pressure_ratio: 0.26, steal_ratio: 0.02 })
    const sentences = found.filter(({ level }) => level !== 'ok').map(sentenceOf)
    t.strictSame(sentences.slice(1), [
      'when the run began, other programs used 20 % of a core (core 1: 20 %), expected at most 5 %, so its figures are less certain',
      'in the 10 s before the run began, programs waited for a core 26 % of the time, expected at most 20 %, so its figures are less certain',
    ])
    t.match(
      sentences[0],
      /^CPU taken by the host: 2 % of all cores, .*\. While the host runs .*\. Measure at another time, or/,
      'advice that still helps',
    )
    const [busy] = named(
      found.filter(({ check }) => check === 'other-processes'),
      'u@a',
    )
    t.match(sentenceOf(busy), /^on u@a, when the run began, other programs used 20 %/)
    t.match(busy, { what: 'CPU used by others, u@a', mend: /run this again/ }, 'doctor keeps its advice')
  },
)

t.test('preflight', async (t) => {
  for (const [check, level, about, facts, plan] of /** @type {[string, string, string, object, object][]} */ (rows)) {
    const found = findings(facts, plan).find((finding) => finding.check === check)
    t.equal(found?.level, level, `${check} ${level}: ${about} (${found?.value})`)
  }
})

t.test('where the load comes from hosts, each is looked at with its share, and not this machine', async (t) => {
  const { generator_nofile, time_wait, tw_reuse } = FINE
  const own = { generator_nofile, time_wait, tw_reuse }
  const facts = /** @type {any} */ ({ ...FINE, generator_nofile: limits(1) })
  const found = [31, 32].flatMap((ephemeral_ports, i) => {
    return preflightOfHost(facts, PLAN, { host: `u@${i}`, facts: { ...own, ephemeral_ports }, share_ratio: 0.5 })
  })
  const levels = Object.fromEntries(found.map(({ what, level }) => [what, level]))
  t.match(levels, {
    'ports for connections, u@0': 'bad',
    'ports for connections, u@1': 'ok',
    'open files, generator, u@0': 'ok',
  })
  t.equal(levels['open files, generator'], undefined)
})

t.test('where all is well, every finding is ok, with what was expected and what came', async (t) => {
  t.equal(findings().length, 11)
  for (const finding of findings()) t.equal(finding.level, 'ok', sentenceOf(finding))
  const values = Object.fromEntries(findings().map(({ check, value }) => [check, value]))
  t.match(values, {
    'generator-nofile': 'hard limit 20,000 (soft 20,000), 96 needed',
    'api-nofile': 'hard limit 20,000 (soft 20,000), 142 needed',
    ports: '28,232, at most 0 of them in TIME_WAIT; 64 needed',
    backlog: '511 (backlog 511, somaxconn 4,096), 64 may arrive at once',
    pool: '196 free (max_connections 200, 3 reserved, 1 used), 20 needed',
    cores: 'core 0 for the API, 1 for everything else',
    'generator-ceiling': '50,000/s against a null server, which does nothing; 10,000/s planned',
  })
})

t.test('what cannot be seen is said, each for itself, and nothing is thrown', async (t) => {
  t.equal(findings(UNSEEN, FRESH).length, 12)
  for (const { check, level, value } of findings(UNSEEN, FRESH)) {
    t.equal(level, 'unseen', check)
    t.match(value, /^unknown/, check)
  }
})

t.test('of a service that is not ours, limits are not judged', async (t) => {
  const unseen = findings({}, { pool_max: null, backlog: null }).filter(({ level }) => level === 'unseen')
  t.strictSame(
    unseen.map(({ check }) => check),
    ['api-nofile', 'backlog', 'pool'],
  )
})

t.test('what to do about a pool that is too large names figures that would do', async (t) => {
  const plan = { pool_max: 200 }
  const pool = findings({}, plan).find(({ check }) => check === 'pool')
  t.match(pool?.mend, /POOL_MAX=192 or less, or max_connections = 208 or more/)
  t.equal(findings({}, { pool_max: 192 }).find(({ check }) => check === 'pool')?.level, 'ok')
  const database_connections = { max: 208, reserved: 3, used: 1 }
  t.equal(findings({ database_connections }, plan).find(({ check }) => check === 'pool')?.level, 'ok')
})
