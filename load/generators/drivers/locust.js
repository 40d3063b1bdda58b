import { execFile } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import getPort from 'get-port'
import { makeScratch } from '../../../sql/scratch.js'
import { programOf } from '../mix.js'
import { PROTOCOL, sideOfCode, TIMEOUT } from './errors.js'
import { startHere, startThere, workersOf } from './locust/workers.js'
import { trafficOf } from './recorder.js'
import { requireProgram } from './refuse.js'
import { distributionOf, totalOf } from './tally.js'

/**
 * @import { LoadHost } from '../hosts/prepare.js'
 * @import { Driver, Load } from './index.js'
 * @import { Running } from './locust/workers.js'
 * @import { Counted } from './tally.js'
 * @import { Readable } from 'node:stream'
 * @import { HostTraffic } from '../../report/record.js'
 */

const LOCUSTFILE = new URL('locust/locustfile.py', import.meta.url)

/** Beyond it and the timeout, a phase hangs. */
const GRACE_S = 10
const START_TIMEOUT_MS = 60_000

/**
 * Closed loop by locust: each connection is a user of its own (FastHttpUser), and as many workers as there are cores share
 * them, or as many as the load hosts have. Its interpreter is its limit: a worker does some thousand requests per second.
 *
 * @type {Driver}
 */
export const locust = {
  name: 'locust',
  loop: 'closed',
  grace_s: 2 * (START_TIMEOUT_MS / 1000),

  version: async () => {
    return (await promisify(execFile)('locust', ['--version'])).stdout.match(/^locust (\S+)/)?.[1] ?? 'unknown'
  },

  check: () => requireProgram('locust', 'pip install locust==2.47.0'),

  async open(load, signal) {
    const folder = makeScratch('locust')
    const swarm = await startSwarm(folder, load, signal).catch(async (error) => {
      await fs.rm(folder, { recursive: true, force: true })
      throw error
    })
    return {
      async run({ duration_s, signal, onEnd }) {
        const limit_ms = (duration_s + 2 * load.timeout_s + GRACE_S) * 1000
        const { counts } = await swarm.ask({ duration_s }, signal, limit_ms)
        onEnd()
        return summarise(counts, load, duration_s)
      },
      close: async () => {
        await swarm.stop()
        await fs.rm(folder, { recursive: true, force: true })
      },
    }
  },
}

/**
 * Starts master and workers, and waits until every user is there.
 *
 * @param {string} folder
 * @param {Load} load
 * @param {AbortSignal} signal
 */
async function startSwarm(folder, load, signal) {
  const counts = workersOf(load.load_hosts ?? [{ cores: os.availableParallelism() }], load.connections)
  const workers = totalOf(counts, (count) => count)
  const port = await getPort({ host: '127.0.0.1' })
  const file = path.join(folder, 'locustfile.py')
  await fs.copyFile(LOCUSTFILE, file)
  const setup = JSON.stringify(setupFor(load, workers, null))
  await fs.writeFile(path.join(folder, 'program.json'), setup, { mode: 0o600 })
  const common = ['--headless', '--loglevel=ERROR']
  const bound = ['--master', '--master-bind-host=127.0.0.1', `--master-bind-port=${port}`]
  const users = [`--users=${load.connections}`, `--spawn-rate=${load.connections}`, `--expect-workers=${workers}`]
  const master = startHere(['locust', `--locustfile=${file}`, ...common, ...bound, ...users, '--only-summary'], 'pipe')
  /** @type {Running[]} */
  const running = [master]
  const answers = new EventEmitter()
  createInterface({ input: /** @type {Readable} */ (master.child.stdout) }).on('line', (line) => {
    if (line.startsWith('{')) answers.emit('answer', JSON.parse(line))
  })

  const swarm = {
    /** @param {object | null} message @param {AbortSignal} signal @param {number} limit_ms @returns {Promise<any>} */
    ask: async (message, signal, limit_ms) => {
      signal.throwIfAborted()
      const bounds = AbortSignal.any([signal, AbortSignal.timeout(limit_ms)])
      const answered = once(answers, 'answer', { signal: bounds })
      if (message) master.child.stdin?.write(`${JSON.stringify(message)}\n`)
      try {
        return (await Promise.race([answered, ...running.map(({ ended }) => ended)]))[0]
      } catch (error) {
        signal.throwIfAborted()
        throw bounds.aborted ? new Error(`locust did not answer within ${limit_ms / 1000} s`) : error
      }
    },
    stop: async () => {
      await Promise.all(running.map(({ stop }) => stop()))
    },
  }
  try {
    const ready = swarm.ask(null, signal, START_TIMEOUT_MS)
    ready.catch(() => {})
    const joined = ['--worker', ...common]
    if (load.load_hosts) {
      const options = { folder, load, masterPort: port, workers, args: joined, signal }
      running.push(...(await startOn(load.load_hosts, counts, options)))
    } else {
      const worker = ['locust', `--locustfile=${file}`, ...joined, '--master-host=127.0.0.1', `--master-port=${port}`]
      running.push(...Array.from({ length: workers }, () => startHere(worker)))
    }
    await Promise.race([ready, ...running.map(({ ended }) => ended)])
    return swarm
  } catch (error) {
    await swarm.stop()
    throw error
  }
}

/**
 * @param {LoadHost[]} hosts
 * @param {number[]} counts of workers, by host
 * @param {{ folder: string, load: Load, masterPort: number, workers: number, args: string[], signal: AbortSignal }} options
 */
async function startOn(hosts, counts, { folder, load, masterPort, workers, args, signal }) {
  const started = hosts.map(async (place, i) => {
    if (counts[i] === 0) return []
    const program = path.join(folder, `program-${i}.json`)
    await fs.writeFile(program, JSON.stringify(setupFor(load, workers, place.host)), { mode: 0o600 })
    const files = { [program]: 'program.json', [path.join(folder, 'locustfile.py')]: 'locustfile.py' }
    const options = { config: load.ssh_config ?? null, workers: counts[i], masterPort, files, signal }
    return [await startThere(place, { ...options, args: ['--locustfile=locustfile.py', ...args] })]
  })
  const settled = await Promise.allSettled(started)
  const running = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const failed = settled.find((one) => one.status === 'rejected')
  if (!failed) return running
  await Promise.all(running.map(({ stop }) => stop()))
  throw failed.reason
}

/** @param {Load} load @param {number} workers @param {string | null} host that they are on; null: here */
function setupFor({ url, mix, trial, connections, timeout_s, fresh_connections }, workers, host) {
  const { origin, pathname, search } = new URL(url)
  const { entries, ...program } = programOf(mix, trial)
  const last = fresh_connections ? { Connection: 'close' } : {}
  const filled = entries.map(({ headers, path: own, ...entry }) => {
    return { ...entry, path: own ?? [pathname + search], headers: { ...Object.fromEntries(headers), ...last } }
  })
  return { origin, connections, workers, host, timeout_s, program: { ...program, entries: filled } }
}

/**
 * @typedef {[string | number, number][]} Pairs
 *
 * @typedef {object} Counts of one worker
 * @property {string | null} host
 * @property {number} sent
 * @property {number} run_s to the last answer
 * @property {number} cpu_s
 * @property {Pairs} errors
 * @property {Counted[]} waited until the timeout
 * @property {Pairs} seconds
 * @property {Pairs} ok_seconds
 * @property {[name: string, Pairs][]} statuses
 * @property {[name: string, ok: boolean, Counted[]][]} latencies
 */

/** @param {Counts[]} counts @param {Load} load @param {number} duration_s */
function summarise(counts, { mix }, duration_s) {
  const sent = totalOf(counts, (own) => own.sent)
  const latencies = counts.flatMap((own) => own.latencies)
  const statuses = counts.flatMap((own) => own.statuses)
  const all = latencies.flatMap(([, , pairs]) => pairs)
  const traffic = trafficOf({
    planned: sent,
    sent,
    run_s: Math.max(duration_s, ...counts.map(({ run_s }) => run_s)),
    status: summed(statuses.flatMap(([, pairs]) => pairs)),
    errors: errorsOf(counts),
    per_second: perSecond(counts),
    latency_ms: distributionOf([...all, ...counts.flatMap(({ waited }) => waited)]),
    ok_latency_ms: distributionOf(latencies.flatMap(([, ok, pairs]) => (ok ? pairs : []))),
    ...{ lateness_ms: null, queued_ms: null },
  })
  const rows = mix.entries?.map(({ name }) => {
    const answers = statuses.flatMap(([whose, pairs]) => (whose === name ? pairs : []))
    const latency_ms = distributionOf(latencies.flatMap(([whose, , pairs]) => (whose === name ? pairs : [])))
    const ok = totalOf(answers, ([code, count]) => (String(code)[0] === '2' ? count : 0))
    return [name, { completed: totalOf(answers, ([, count]) => count), ok, latency_ms }]
  })
  return {
    ...traffic,
    threads: counts.length,
    children_cpu_s: totalOf(counts, ({ cpu_s }) => cpu_s),
    ...(counts[0]?.host && { hosts: byHost(counts) }),
    ...(rows && { by_entry: Object.fromEntries(rows) }),
  }
}

/** @param {Counts[]} counts @returns {HostTraffic[]} */
function byHost(counts) {
  return [...new Set(counts.map(({ host }) => String(host)))].map((host) => {
    const own = counts.filter((one) => one.host === host)
    const run_s = Math.max(...own.map((one) => one.run_s))
    const cpu_s = totalOf(own, (one) => one.cpu_s)
    return {
      host,
      sent: totalOf(own, ({ sent }) => sent),
      completed: totalOf(own, ({ statuses }) => totalOf(statuses, ([, pairs]) => totalOf(pairs, ([, count]) => count))),
      errors: errorsOf(own),
      lateness_ms: null,
      start_ms: null,
      cpu_s,
      cpu_core_ratio: run_s > 0 ? Number((cpu_s / run_s).toFixed(3)) : null,
      // Each worker is one thread.
      cores: own.length,
    }
  })
}

/** @param {Counts[]} counts */
function perSecond(counts) {
  const all = summed(counts.flatMap(({ seconds }) => seconds))
  const ok = summed(counts.flatMap(({ ok_seconds }) => ok_seconds))
  const last = Math.max(-1, ...Object.keys(all).map(Number))
  return Array.from({ length: last + 1 }, (_, second) => ({ completed: all[second] ?? 0, ok: ok[second] ?? 0 }))
}

/** @param {Pairs} pairs @returns {Record<string, number>} */
function summed(pairs) {
  /** @type {Record<string, number>} */
  const sums = {}
  for (const [key, count] of pairs) sums[key] = (sums[key] ?? 0) + count
  return sums
}

/** Its client does not tell a connection that had served from a new one. @type {Record<string, string>} */
const SIDES = { TIMEOUT, CLOSED: 'server:closed', PROTOCOL, TLS: 'server:tls' }

/** Errors by their side, from the names that the locustfile gives them. @param {Counts[]} counts */
function errorsOf(counts) {
  const pairs = counts.flatMap(({ errors }) => errors)
  return summed(pairs.map(([code, count]) => [SIDES[code] ?? sideOfCode({ code: String(code) }), count]))
}
