import { EventEmitter, once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import getPort from 'get-port'
import { makeScratch } from '../../../sql/scratch.js'
import { programOf } from '../mix.js'
import { PROTOCOL, sideOfCode, TIMEOUT } from './errors.js'
import { startHere, startThere, workersOf } from './locust/workers.js'
import { distributionOf, perSecondOf, requireProgram, versionOf } from './outside.js'
import { totalOf, trafficOf } from './recorder.js'

/**
 * @import { Readable } from 'node:stream'
 * @import { Driver, Load } from './index.js'
 * @import { Running } from './locust/workers.js'
 * @import { Counted } from './outside.js'
 * @import { HostTraffic } from '../../report/record.js'
 */

const LOCUSTFILE = new URL('locust/locustfile.py', import.meta.url)
const COMMON = ['--headless', '--loglevel=ERROR', '--locustfile=locustfile.py']

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
  version: async () => versionOf('locust', '--version', /^locust (\S+)/),
  check: () => requireProgram('locust', 'pip install locust==2.47.0'),

  async open(load, signal) {
    const folder = makeScratch('locust')
    /** @type {Running[]} */
    const running = []
    const close = async () => {
      await Promise.all(running.map(({ stop }) => stop()))
      await fs.rm(folder, { recursive: true, force: true })
    }
    try {
      const ask = await startSwarm(folder, load, running, signal)
      return {
        async run({ duration_s, signal, onEnd }) {
          const limit_s = duration_s + 2 * load.timeout_s + GRACE_S
          const { counts } = await ask({ duration_s }, limit_s * 1000, signal)
          onEnd()
          return summarise(counts, load, duration_s)
        },
        close,
      }
    } catch (error) {
      await close()
      throw error
    }
  },
}

/**
 * Starts master and workers, and waits until every user is there.
 *
 * @param {string} folder @param {Load} load
 * @param {Running[]} running gets what is started
 * @param {AbortSignal} signal
 */
async function startSwarm(folder, load, running, signal) {
  const hosts = load.load_hosts ?? [{ cores: os.availableParallelism(), host: null }]
  const counts = workersOf(hosts, load.connections)
  const workers = totalOf(counts, (count) => count)
  const masterPort = await getPort({ host: '127.0.0.1' })
  const locustfile = await fs.readFile(LOCUSTFILE, 'utf8')
  const filesFor = (/** @type {string | null} */ host) => {
    return { 'locustfile.py': locustfile, 'program.json': JSON.stringify(setupFor(load, workers, host)) }
  }
  for (const [name, text] of Object.entries(filesFor(null))) {
    await fs.writeFile(path.join(folder, name), text, { mode: 0o600 })
  }
  const bound = ['--master', '--master-bind-host=127.0.0.1', `--master-bind-port=${masterPort}`, '--only-summary']
  const users = [`--users=${load.connections}`, `--spawn-rate=${load.connections}`, `--expect-workers=${workers}`]
  const master = startHere([...COMMON, ...bound, ...users], folder, 'pipe')
  running.push(master)
  const answers = new EventEmitter()
  createInterface({ input: /** @type {Readable} */ (master.child.stdout) }).on('line', (line) => {
    if (line.startsWith('{')) answers.emit('answer', JSON.parse(line))
  })

  /** @param {object | null} message @param {number} limit_ms @param {AbortSignal} signal @returns {Promise<any>} */
  async function ask(message, limit_ms, signal) {
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
  }

  const ready = ask(null, START_TIMEOUT_MS, signal)
  ready.catch(() => {})
  const args = ['--worker', ...COMMON]
  if (load.load_hosts) {
    const starting = load.load_hosts.map(async (place, i) => {
      const options = { workers: counts[i], masterPort, args, files: filesFor(place.host) }
      if (counts[i] > 0) running.push(await startThere(place, load, options, signal))
    })
    await Promise.allSettled(starting)
    await Promise.all(starting)
  } else {
    const worker = [...args, '--master-host=127.0.0.1', `--master-port=${masterPort}`]
    for (let i = 0; i < workers; i++) running.push(startHere(worker, folder))
  }
  await Promise.race([ready, ...running.map(({ ended }) => ended)])
  return ask
}

/** @param {Load} load @param {number} workers @param {string | null} host that they are on; null: here */
function setupFor({ url, mix, trial, connections, timeout_s, fresh_connections }, workers, host) {
  const { entries, ...program } = programOf(mix, trial, url)
  const last = fresh_connections ? { Connection: 'close' } : {}
  const filled = entries.map(({ headers, ...entry }) => ({
    ...entry,
    headers: { ...Object.fromEntries(headers), ...last },
  }))
  return {
    origin: new URL(url).origin,
    connections,
    workers,
    host,
    timeout_s,
    program: { ...program, entries: filled },
  }
}

/**
 * @typedef {[string | number, number][]} Pairs
 * @typedef {[name: string, status: number, latency_us: number, count: number]} Answers
 *
 * @typedef {object} Counts of one worker
 * @property {string | null} host
 * @property {number} sent
 * @property {number} run_s to the last answer
 * @property {number} cpu_s
 * @property {Pairs} errors
 * @property {Counted[]} waited until the timeout
 * @property {Parameters<typeof perSecondOf>[0]} seconds
 * @property {Answers[]} answers
 */

/** @param {Counts[]} counts @param {Load} load @param {number} duration_s */
function summarise(counts, { mix, load_hosts }, duration_s) {
  const sent = totalOf(counts, (own) => own.sent)
  const answers = counts.flatMap((own) => own.answers)
  const waited = counts.flatMap((own) => own.waited)
  const traffic = trafficOf({
    planned: sent,
    sent,
    run_s: Math.max(duration_s, ...counts.map(({ run_s }) => run_s)),
    status: summed(answers.map(([, status, , count]) => [status, count])),
    errors: errorsOf(counts),
    per_second: perSecondOf(counts.flatMap(({ seconds }) => seconds)),
    latency_ms: distributionOf([...latenciesOf(answers), ...waited]),
    ok_latency_ms: distributionOf(latenciesOf(answers.filter(isOk))),
  })
  const rows = mix.entries?.map(({ name }) => {
    const own = answers.filter(([whose]) => whose === name)
    const ok = totalOf(own.filter(isOk), countOf)
    return [name, { completed: totalOf(own, countOf), ok, latency_ms: distributionOf(latenciesOf(own)) }]
  })
  return {
    ...traffic,
    threads: counts.length,
    children_cpu_s: totalOf(counts, ({ cpu_s }) => cpu_s),
    ...(load_hosts && { hosts: load_hosts.flatMap(({ host }) => ofHost(host, counts)) }),
    ...(rows && { by_entry: Object.fromEntries(rows) }),
  }
}

/** @param {string} host @param {Counts[]} counts @returns {HostTraffic[]} none: it had no worker */
function ofHost(host, counts) {
  const own = counts.filter((one) => one.host === host)
  if (own.length === 0) return []
  const run_s = Math.max(...own.map((one) => one.run_s))
  const cpu_s = totalOf(own, (one) => one.cpu_s)
  const traffic = {
    sent: totalOf(own, ({ sent }) => sent),
    completed: totalOf(own, ({ answers }) => totalOf(answers, countOf)),
    errors: errorsOf(own),
  }
  const cpu_core_ratio = run_s > 0 ? Number((cpu_s / run_s).toFixed(3)) : null
  // Each worker is one thread.
  return [{ host, ...traffic, lateness_ms: null, start_ms: null, cpu_s, cpu_core_ratio, cores: own.length }]
}

/** @param {Answers} answers */
const countOf = ([, , , count]) => count

/** @param {Answers} answers */
const isOk = ([, status]) => status >= 200 && status < 300

/** @param {Answers[]} answers @returns {Counted[]} */
const latenciesOf = (answers) => answers.map(([, , latency_us, count]) => [latency_us, count])

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
