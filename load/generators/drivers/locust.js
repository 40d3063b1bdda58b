import { EventEmitter, once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import getPort from 'get-port'
import { makeScratch } from '../../../sql/scratch.js'
import { versionOf } from '../../system/processes.js'
import { programOf } from '../mix.js'
import { PROTOCOL, sideOfCode, TIMEOUT } from './errors.js'
import { startHere, startThere, workersOf } from './locust/workers.js'
import { Recorder, totalOf } from './recorder.js'
import { refuseTaking, requireProgram } from './refuse.js'

/**
 * @import { Readable } from 'node:stream'
 * @import { Driver, Load } from './index.js'
 * @import { Running } from './locust/workers.js'
 * @import { Entry, HostTraffic } from '../../report/record.js'
 */

const LOCUSTFILE = new URL('locust/locustfile.py', import.meta.url)
const COMMON = ['--headless', '--loglevel=ERROR', '--locustfile=locustfile.py']

/** Error codes of locust's client, which does not distinguish a reused connection from a new one. @type {Record<string, string>} */
const SIDES = { TIMEOUT, CLOSED: 'server:closed', PROTOCOL, TLS: 'server:tls' }

/**
 * Closed loop by locust: each connection is a user (FastHttpUser); one worker per core, here or on the load hosts, runs them.
 * The Python interpreter is the limit: a worker sends a few thousand requests per second.
 * @type {Driver}
 */
export const locust = {
  name: 'locust',
  loop: 'closed',
  grace_s: 120,
  version: async () => versionOf('locust', '--version', /^locust (\S+)/),
  check(asked) {
    refuseTaking('locust', asked)
    requireProgram('locust', 'pip install locust==2.47.0')
  },
  async open(load, signal) {
    const folder = makeScratch('locust')
    /** @type {Running[]} */
    const running = []
    const close = async () => {
      await Promise.all(running.map(({ stop }) => stop()))
      await fs.rm(folder, { recursive: true, force: true })
    }
    const ask = await startSwarm(folder, load, running, signal).catch(async (error) => {
      await close()
      throw error
    })
    return {
      async run({ duration_s, signal, onEnd }) {
        const { counts } = await ask({ duration_s }, signal)
        onEnd()
        return summarise(counts, load, duration_s)
      },
      close,
    }
  },
}

/** Starts master and workers; awaits every user. @param {string} folder @param {Load} load @param {Running[]} running collects them @param {AbortSignal} signal */
async function startSwarm(folder, load, running, signal) {
  const { load_hosts, ssh_config: config = null, connections } = load
  const counts = workersOf(load_hosts ?? [{ cores: os.availableParallelism() }], connections)
  const workers = totalOf(counts, (count) => count)
  const masterPort = await getPort({ host: '127.0.0.1' })
  const locustfile = await fs.readFile(LOCUSTFILE, 'utf8')
  const filesFor = (/** @type {string | null} */ host) => ({
    'locustfile.py': locustfile,
    'program.json': JSON.stringify(setupFor(load, workers, host)),
  })
  for (const [name, text] of Object.entries(filesFor(null))) {
    await fs.writeFile(path.join(folder, name), text, { mode: 0o600 })
  }
  const bound = ['--master', '--master-bind-host=127.0.0.1', `--master-bind-port=${masterPort}`, '--only-summary']
  const users = [`--users=${connections}`, `--spawn-rate=${connections}`, `--expect-workers=${workers}`]
  const master = startHere([...COMMON, ...bound, ...users], folder, 'pipe')
  running.push(master)
  const answers = new EventEmitter()
  createInterface({ input: /** @type {Readable} */ (master.child.stdout) }).on('line', (line) => {
    if (line.startsWith('{')) answers.emit('answer', JSON.parse(line))
  })
  const ended = () => Promise.race(running.map((one) => one.ended))

  /** @param {object | null} message @param {AbortSignal} signal @returns {Promise<any>} */
  async function ask(message, signal) {
    signal.throwIfAborted()
    const answered = once(answers, 'answer', { signal })
    if (message) master.child.stdin?.write(`${JSON.stringify(message)}\n`)
    try {
      return (await Promise.race([answered, ended()]))[0]
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  const ready = ask(null, signal)
  ready.catch(() => {})
  const args = ['--worker', ...COMMON]
  if (load_hosts) {
    const starting = load_hosts.map(async (place, i) => {
      const options = { config, workers: counts[i], masterPort, args, files: filesFor(place.host), signal }
      if (counts[i] > 0) running.push(await startThere(place, options))
    })
    await Promise.allSettled(starting)
    await Promise.all(starting)
  } else {
    const worker = [...args, '--master-host=127.0.0.1', `--master-port=${masterPort}`]
    for (let i = 0; i < workers; i++) running.push(startHere(worker, folder))
  }
  await Promise.race([ready, ended()])
  return ask
}

/** Creates the setup that locustfile.py reads. @param {Load} load @param {number} workers @param {string | null} host null: this machine */
function setupFor({ url, mix, trial, connections, timeout_s, fresh_connections }, workers, host) {
  const program = programOf(mix, trial, url)
  const last = fresh_connections ? { Connection: 'close' } : {}
  const entries = program.entries.map((entry) => {
    return { ...entry, headers: { ...Object.fromEntries(entry.headers), ...last } }
  })
  const { origin } = new URL(url)
  return { origin, connections, workers, host, timeout_s, program: { ...program, entries } }
}

/**
 * @param {Counts[]} counts @param {Load} load @param {number} duration_s
 * @typedef {{ host: string | null, sent: number, run_s: number, cpu_s: number, errors: [name: string, code: string, waited_us: number, count: number][],
 *   answers: [name: string, status: number, second: number, latency_us: number, count: number][] }} Counts of one worker; run_s: until
 *   the last response
 */
function summarise(counts, { mix, load_hosts }, duration_s) {
  const recorder = recorderOf(counts, mix.entries)
  const run_s = Math.max(duration_s, ...counts.map((own) => own.run_s))
  return {
    ...recorder.summary(recorder.sent, run_s),
    threads: counts.length,
    children_cpu_s: totalOf(counts, ({ cpu_s }) => cpu_s),
    ...(load_hosts && { hosts: load_hosts.flatMap(({ host }) => ofHost(host, counts)) }),
  }
}

/** @param {string} host @param {Counts[]} counts @returns {HostTraffic[]} empty if the host had no worker */
function ofHost(host, counts) {
  const own = counts.filter((one) => one.host === host)
  if (own.length === 0) return []
  const run_s = Math.max(...own.map((one) => one.run_s))
  const cpu_s = totalOf(own, (one) => one.cpu_s)
  const { sent, completed, errors } = recorderOf(own).summary(0, run_s)
  const cpu_core_ratio = run_s > 0 ? Number((cpu_s / run_s).toFixed(3)) : null
  return [
    { host, sent, completed, errors, lateness_ms: null, start_ms: null, cpu_s, cpu_core_ratio, cores: own.length },
  ]
}

/** @param {Counts[]} counts @param {Entry[]} [entries] */
function recorderOf(counts, entries) {
  const recorder = new Recorder(entries)
  for (const { sent, answers, errors } of counts) {
    recorder.sent += sent
    for (const [name, status, second, latency_us, count] of answers) {
      for (let i = 0; i < count; i++) recorder.answer(status, latency_us / 1000, second * 1000, name)
    }
    for (const [name, code, waited_us, count] of errors) {
      for (let i = 0; i < count; i++) recorder.error(SIDES[code] ?? sideOfCode({ code }), waited_us / 1000, name)
    }
  }
  return recorder
}
