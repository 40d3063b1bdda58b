import { execFile, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import getPort from 'get-port'
import { makeScratch } from '../../../sql/scratch.js'
import { UsageError } from '../../command/errors.js'
import { programOf } from '../mix.js'
import { PROTOCOL, sideOfCode, TIMEOUT } from './errors.js'
import { startHere, startThere, workersOf } from './locust/workers.js'
import { distributionOf, trafficOf } from './tally.js'

/**
 * @import { LoadHost } from '../hosts/prepare.js'
 * @import { Driver, Load } from './index.js'
 * @import { Running } from './locust/workers.js'
 * @import { Counted } from './tally.js'
 * @import { HostTraffic } from './vegeta/hits.js'
 * @import { Readable } from 'node:stream'
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

  check() {
    // To start it takes a second; to find it does not.
    if (spawnSync('sh', ['-c', 'command -v locust']).status !== 0) {
      throw new UsageError('--driver: expected locust on PATH, found none: pip install locust==2.47.0')
    }
  },

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
  const places = load.load_hosts ?? [HERE()]
  const counts = workersOf(places, load.connections)
  const workers = counts.reduce((sum, count) => sum + count, 0)
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
      running.push(
        ...(await startOn(load.load_hosts, counts, { folder, load, masterPort: port, workers, args: joined, signal })),
      )
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

/** This machine, as a place for workers. */
const HERE = () => ({ cores: os.availableParallelism() })

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
  const sent = counts.reduce((sum, own) => sum + own.sent, 0)
  const latencies = counts.flatMap((own) => own.latencies)
  const statuses = counts.flatMap((own) => own.statuses)
  const traffic = trafficOf({
    planned: sent,
    sent,
    run_s: Math.max(duration_s, ...counts.map(({ run_s }) => run_s)),
    status: summed(statuses.flatMap(([, pairs]) => pairs)),
    errors: summed(counts.flatMap(({ errors }) => errors.map(sided))),
    per_second: perSecond(counts),
    latencies: [...latencies.flatMap(([, , pairs]) => pairs), ...counts.flatMap(({ waited }) => waited)],
    ok_latencies: latencies.flatMap(([, ok, pairs]) => (ok ? pairs : [])),
  })
  const children_cpu_s = counts.reduce((sum, { cpu_s }) => sum + cpu_s, 0)
  const hosts = counts[0]?.host ? { hosts: byHost(counts) } : {}
  const own = { ...traffic, threads: counts.length, children_cpu_s, ...hosts }
  if (!mix.entries) return own
  const rows = mix.entries.map(({ name }) => {
    const answers = summed(statuses.flatMap(([whose, pairs]) => (whose === name ? pairs : [])))
    const found = Object.entries(answers)
    const ok = found.filter(([code]) => code[0] === '2').reduce((sum, [, count]) => sum + count, 0)
    const latency_ms = distributionOf(latencies.flatMap(([whose, , pairs]) => (whose === name ? pairs : [])))
    return [name, { completed: found.reduce((sum, [, count]) => sum + count, 0), ok, latency_ms }]
  })
  return { ...own, by_entry: Object.fromEntries(rows) }
}

/** @param {Counts[]} counts @returns {HostTraffic[]} */
function byHost(counts) {
  return [...new Set(counts.map(({ host }) => String(host)))].map((host) => {
    const own = counts.filter((one) => one.host === host)
    const total = (/** @type {(one: Counts) => number} */ of) => own.reduce((sum, one) => sum + of(one), 0)
    const run_s = Math.max(...own.map((one) => one.run_s))
    const cpu_s = total((one) => one.cpu_s)
    return {
      host,
      sent: total(({ sent }) => sent),
      completed: total(({ statuses }) =>
        statuses.flatMap(([, pairs]) => pairs).reduce((sum, [, count]) => sum + count, 0),
      ),
      errors: summed(own.flatMap(({ errors }) => errors.map(sided))),
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

/** Its client does not tell a connection that had served from a new one. */
const SIDES = /** @type {Record<string, string>} */ ({
  TIMEOUT,
  CLOSED: 'server:closed',
  PROTOCOL,
  TLS: 'server:tls',
})

/** @param {Pairs[number]} pair an error as the locustfile names it @returns {Pairs[number]} */
function sided([code, count]) {
  return [SIDES[code] ?? sideOfCode({ code: String(code) }), count]
}
