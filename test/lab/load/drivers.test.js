import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { processesOf } from '../../support/lab.js'
import { loadOnce } from '../../support/load.js'
import { countingServer, ENTRIES, requestsOf, total } from '../../support/mixed.js'
import { created, httpServer } from '../../support/servers.js'
import { without, withoutDriver } from '../../support/skip.js'
import { until } from '../../support/until.js'

const DRIVE = fileURLToPath(new URL('../../support/drive.js', import.meta.url))

/** Programs with limits of their own, which end or wait where others name an error. */
const NAMELESS = ['wrk', 'locust']

/** They end amid requests. */
const CUTTING = ['wrk', 'locust']

/**
 * A test for every driver, in the generator's process.
 * @param {string} name
 * @param {string[]} drivers
 * @param {(t: any, driver: string, loop: string) => Promise<void>} body
 */
function eachDriver(name, drivers, body) {
  for (const driver of drivers) {
    t.test(`${driver}: ${name}`, { skip: withoutDriver(driver) }, (t) => body(t, driver, DRIVERS[driver].loop))
  }
}

const ALL = Object.keys(DRIVERS)
const NAMING = ALL.filter((driver) => !NAMELESS.includes(driver))

eachDriver('what it sent is what arrived, each once, and what was answered', ALL, async (t, driver, loop) => {
  const { url, seen } = await countingServer(t)
  let warm = 0
  const begins = () => {
    warm = seen.length
  }
  const options = { entries: ENTRIES, connections: 4, rate_rps: 100, warmup_s: 0.3, duration_s: 0.6, begins }
  const traffic = await loadOnce(driver, url, options)
  const known = requestsOf(ENTRIES, 4 * seen.length)
  const strays = seen.filter((text) => !known.has(text))
  t.ok(seen.length > 0)
  t.strictSame(strays, [], 'what arrived is of the mix')
  const unique = seen.filter((text) => text.startsWith('POST'))
  t.equal(new Set(unique).size, unique.length, 'nothing twice, the warm-up included')
  const { planned, sent, completed, status, errors, latency_ms, by_entry, per_second } = traffic
  const cut = CUTTING.includes(driver) ? 4 : 0
  const arrived = seen.length - warm
  const counts = JSON.stringify({ planned, sent, completed, status, errors, arrived, warm })
  t.ok(warm > 0 && completed > 0, counts)
  t.strictSame([planned, errors], [completed, {}], counts)
  t.ok(sent >= completed && sent <= completed + cut, counts)
  // The warm-up too cut off as many, and they may have arrived late.
  t.ok(arrived >= completed && arrived <= completed + 2 * cut, counts)
  t.equal(total(status), completed, counts)
  t.equal(total(per_second.map((/** @type {any} */ second) => second.completed)), completed)
  t.ok(latency_ms.min > 0 && latency_ms.min <= latency_ms.p50 && latency_ms.p50 <= latency_ms.max)
  t.ok(latency_ms.mean >= latency_ms.min && latency_ms.mean <= latency_ms.max)
  if (loop === 'open') t.equal(sent, 60, 'the schedule is kept to the last request')
  if (driver === 'wrk') return t.notOk(by_entry, 'wrk does not tell which request an answer is to')
  const answers = [status[201] ?? 0, status[200] ?? 0, status[404] ?? 0]
  const byName = ['create', 'read', 'umlaut'].map((name) => by_entry[name]?.completed ?? 0)
  t.strictSame(byName, answers)
})

eachDriver('an abort ends the load, and leaves no process', ALL, async (t, driver) => {
  let arrived = 0
  const url = await httpServer(t, (req, res) => {
    arrived++
    created(req, res)
  })
  const folder = ownTemporaryFolder(t)
  const controller = new AbortController()
  const load = loadOnce(driver, url, { duration_s: 3600, connections: 4, signal: controller.signal })
  const failed = t.rejects(load, { message: 'stopped by the test' })
  await until('a request', () => arrived > 0)
  t.not(processesOf(folder).length, 0)
  controller.abort(new Error('stopped by the test'))
  await failed
  await until('no process of the generator', () => processesOf(folder).length === 0)
  t.strictSame(fs.readdirSync(folder), [])
})

eachDriver('the generator has no descriptor left: client:nofile', NAMING, async (t, driver) => {
  if (without('prlimit', '--version')) return t.skip('needs prlimit (util-linux)')
  const url = await httpServer(t, (req, res) => setTimeout(created, 500, req, res))
  const limits = ['prlimit', '--nofile=60:60', process.execPath, DRIVE]
  const { errors } = await drive([...limits, driver, url], { connections: 100, rate_rps: 200, duration_s: 0.5 })
  t.ok(errors['client:nofile'] > 0, JSON.stringify(errors))
  t.notOk(Object.keys(errors).some((key) => /^(server|unknown):/.test(key)))
})

eachDriver('the generator has no port left: client:ports', NAMING, async (t, driver) => {
  const reason = without('unshare', '-rn', 'ip', 'link', 'set', 'lo', 'up')
  if (reason) return t.skip(reason)
  const script = 'ip link set lo up; echo 50000 50009 > /proc/sys/net/ipv4/ip_local_port_range; exec "$0" "$@"'
  const inside = ['unshare', '-rn', 'sh', '-c', script, process.execPath, DRIVE]
  const load = { connections: 40, rate_rps: 400, duration_s: 0.5 }
  const { errors, status } = await drive([...inside, driver, 'here'], load)
  t.ok(errors['client:ports'] > 0, JSON.stringify(errors))
  t.notOk(Object.keys(errors).some((key) => /^unknown:/.test(key)))
  t.ok(status[201] > 0, 'the connections that had a port went on')
})

t.test('wrk: a temporary folder whose name is not ASCII', { skip: withoutDriver('wrk') }, async (t) => {
  process.env.TMPDIR = fs.mkdtempSync(`${ownTemporaryFolder(t)}/é 語-`)
  const traffic = await loadOnce('wrk', await httpServer(t, created), { connections: 2 })
  t.ok(traffic.ok > 0)
  t.strictSame(traffic.errors, {})
})

t.test('locust: an abort while it starts leaves nothing behind', { skip: withoutDriver('locust') }, async (t) => {
  const url = await httpServer(t, () => {})
  const folder = ownTemporaryFolder(t)
  const controller = new AbortController()
  const load = loadOnce('locust', url, { duration_s: 3600, connections: 2, signal: controller.signal })
  const failed = t.rejects(load, { message: 'stopped by the test' })
  await until('its folder', () => fs.readdirSync(folder).some((name) => name.startsWith('redline-locust-')))
  controller.abort(new Error('stopped by the test'))
  await failed
  await until('no process of the generator', () => processesOf(folder).length === 0)
  t.strictSame(fs.readdirSync(folder), [])
})

/** Tells the programs of this test from others, by the environment that they inherit. @param {any} t */
function ownTemporaryFolder(t) {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  const folder = t.testdir()
  process.env.TMPDIR = folder
  return folder
}

/** @param {string[]} command @param {object} options */
async function drive([program, ...args], options) {
  const child = spawn(program, [...args, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(Buffer.concat(await child.stdout.toArray()).toString())
}
