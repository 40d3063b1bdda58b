import path from 'node:path'
import t from 'tap'
import { nodeWarning, openHosts, placesOn, targetMachines } from '../../../../load/run/api-hosts.js'
import { openSite, pinningText } from '../../../../load/run/site.js'
import { apiHostsOf, startsHere } from '../../../../load/system/ssh/plan.js'
import { ramp } from '../../../../tuning/experiments/ramp/ramp.js'
import { createService } from '../../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../../support/simulated/verb.js'

const IO = { signal: new AbortController().signal, note: () => {}, logFile: 'api.log' }
const HERE = { url: null }
const THEIRS = { url: 'http://127.0.0.1:8080/' }
const ONE = { url: null, ssh: sshTo('root@one') }
const TWO = { url: null, ssh: sshTo('root@two') }

/** @param {string} host */
function sshTo(host) {
  return { host, config: null, port: 3000, address: null }
}

/**
 * A host that is made up.
 * @param {string} name @param {{ node?: string, cores?: { api: string, others: string } | null, close?: () => Promise<void> }} [options]
 * @returns {any}
 */
function hostNamed(name, { node = 'v26.1.0', cores = { api: '0', others: '1' }, close = async () => {} } = {}) {
  const machine = { cpu_model: 'EPYC', cores: 2, memory_bytes: 2 ** 33, kernel: 'Linux 6', node }
  return { name, cores, machine, close }
}

t.test('the API runs on each host that a plan names, and here unless every side is elsewhere', async (t) => {
  /** @type {[string, Parameters<typeof startsHere>[0], string[], boolean][]} */
  const rows = [
    ['the local API', { url: null }, [], true],
    ['a running service', { url: THEIRS.url }, [], false],
    ['a service that the run starts', { url: THEIRS.url, start: 'node x.js' }, [], true],
    ['--ssh', { url: null, ssh: ONE.ssh }, ['--ssh root@one'], false],
    ['sides that are no services of its own', { url: null, sides: {} }, [], true],
    ['two local sides', { url: null, sides: { a: HERE, b: HERE } }, [], true],
    ['a service and a local side', { url: null, sides: { a: THEIRS, b: HERE } }, [], true],
    ['a host and a local side', { url: null, sides: { a: ONE, b: HERE } }, ['--ssh-a root@one'], true],
    ['a service and a host', { url: null, sides: { a: THEIRS, b: TWO } }, ['--ssh-b root@two'], false],
    ['two hosts', { url: null, sides: { a: ONE, b: TWO } }, ['--ssh-a root@one', '--ssh-b root@two'], false],
    ['one host for both', { url: null, sides: { a: ONE, b: ONE } }, ['--ssh-a root@one'], false],
  ]
  for (const [about, plan, hosts, isHere] of rows) {
    t.strictSame(
      apiHostsOf(plan).map(({ flag, ssh }) => `${flag} ${ssh.host}`),
      hosts,
      about,
    )
    t.equal(startsHere(plan), isHere, about)
  }
})

t.test('each host is opened once, in order; if one cannot be, those before it are closed', async (t) => {
  /** @type {string[]} */
  const log = []
  /** @type {any} */
  const open = async (/** @type {{ host: string }} */ { host }, /** @type {{ flag: string }} */ { flag }) => {
    log.push(`${flag} opens ${host}`)
    if (host === 'root@gone') throw new Error('nobody answers')
    return hostNamed(host, { close: async () => void log.push(`closes ${host}`) })
  }
  const hosts = await openHosts({ sides: { a: ONE, b: ONE } }, IO, open)
  t.strictSame([Object.keys(hosts), log.splice(0)], [['root@one'], ['--ssh-a opens root@one']])
  const gone = { url: null, ssh: sshTo('root@gone') }
  await t.rejects(openHosts({ sides: { a: ONE, b: gone } }, IO, open), { message: 'nobody answers' })
  t.strictSame(log, ['--ssh-a opens root@one', '--ssh-b opens root@gone', 'closes root@one'])
})

t.test('a host is a place of its own, with its cores and the database of the run', async (t) => {
  const hosts = { one: hostNamed('one'), small: hostNamed('small', { cores: null }) }
  const common = { databaseUrl: 'postgres://db/x', env: { POOL_MAX: '7' }, logFile: 'api.log', signal: IO.signal }
  t.strictSame(placesOn(hosts, common), {
    one: { ...common, cores: '0', allCores: '0,1', host: hosts.one },
    small: { ...common, cores: null, allCores: null, host: hosts.small },
  })
})

t.test('a host needs a database that it reaches, too', async (t) => {
  const database = { url: undefined, isNamed: false, pg: {} }
  const io = { ...IO, progress: IO, environment: { database, pg: {}, forApi: {}, settings: {} }, runId: 'x' }
  const plan = { url: null, sides: { a: THEIRS, b: TWO } }
  const opening = openSite(
    /** @type {any} */ (plan),
    /** @type {any} */ ({ file: (/** @type {string} */ name) => name }),
    /** @type {any} */ (io),
  )
  await t.rejects(opening, { message: /^--ssh-b root@two: expected --database-url URL .* the host reach, got none$/ })
})

t.test('the report says where each side ran, and run.json has the machine of each that ran elsewhere', async (t) => {
  const [one, small] = [hostNamed('root@one'), hostNamed('root@two', { cores: null })]
  const hosts = { 'root@one': one, 'root@two': small }
  const cores = { api: '0', others: '1' }
  const text = (/** @type {any} */ sides, /** @type {typeof cores | null} */ own) => {
    return pinningText({ url: null, sides }, { database: { kind: 'given' }, cores: own, hosts }, { cores: '7' })
  }
  t.equal(
    text({ a: ONE, b: HERE }, cores),
    'A ran on core 0 of root@one alone, our agent there on core 1; B ran on core 0 of this machine alone; the generator and the lab ran on core 1 of this machine; Postgres ran already, wherever it is.',
  )
  t.equal(
    text({ a: THEIRS, b: TWO }, null),
    'A ran already; B ran on root@two, unpinned beside the system and our agent, since it has one core, or no taskset; the generator and the lab ran here, unpinned; Postgres ran already, wherever it is.',
  )
  t.strictSame(targetMachines({ sides: { a: ONE, b: HERE } }, hosts), {
    target_machines: { a: { name: 'root@one', ...one.machine } },
  })
  t.strictSame(targetMachines({ ssh: ONE.ssh }, hosts), { target_machine: { name: 'root@one', ...one.machine } })
  t.strictSame(targetMachines({ sides: { a: HERE, b: HERE } }, {}), {})
})

t.test('machines with different versions of Node are warned of', async (t) => {
  const hosts = { 'root@one': hostNamed('root@one'), 'root@two': hostNamed('root@two', { node: 'v20.19.0' }) }
  const warned = (/** @type {any} */ sides) => nodeWarning({ sides }, hosts, 'v26.1.0')
  const [warning, ...others] = warned({ a: ONE, b: TWO })
  t.match(warning, /different versions of Node \(A v26\.1\.0, B v20\.19\.0\)/)
  t.strictSame(others, [])
  t.equal(warned({ a: HERE, b: TWO }).length, 1)
  t.strictSame([warned({ a: ONE, b: HERE }), warned({ a: THEIRS, b: TWO }), warned({ a: TWO, b: TWO })], [[], [], []])
})

t.test('a run with a side on a host does not go on if that host is another machine', async (t) => {
  const folder = path.join(memoryFolder(t), 'run')
  const serve = createService(({ cell }) => ({ capacity_rps: cell.side === 'a' ? 2000 : 4000, noise: 0.02 }))
  const [one, two] = ['root@one', 'root@two'].map((name) => ({ name, ...hostNamed(name).machine }))
  const about = {
    machine: one,
    versions: { node: 'v26.1.0', postgres: '18.0', redline_commit: 'simulated', driver: 'simulated' },
    database: { kind: 'given', version: '18.0', schema: 'redline_lab' },
    warnings: [],
  }
  const measured = (
    /** @type {string[]} */ argv,
    /** @type {object} */ b,
    /** @type {number} */ interruptAfter = -1,
  ) => {
    const describeRun = async (/** @type {any} */ { slo }) => ({ ...about, slo, target_machines: { a: one, b } })
    const database = ['--database-url', 'postgres://db.test/x']
    return simulate(ramp, [...argv, ...database], serve, /** @type {any} */ ({ interruptAfter, describeRun }))
  }
  const sides = ['--ssh-a', one.name, '--ssh-b', two.name]
  const cut = await measured([...sides, '--quick', '--latency-ceiling', '30ms', '--out', folder], two, 2)
  t.equal(cut.code, 130, cut.end)
  t.equal(cut.run.target_machines.b.name, two.name)
  const other = await measured(['--resume', folder], { ...two, cores: 8 })
  t.strictSame(
    [other.code, other.end],
    [2, 'redline: --resume: expected target_b_cores=2, as when the run began, got target_b_cores=8'],
  )
  const { run, records } = await measured(['--resume', folder], two)
  t.strictSame([run.interrupted, run.problem], [false, null])
  t.ok(records.length > 2)
})
