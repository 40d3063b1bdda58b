import { execFile, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import getPort from 'get-port'
import { leashed } from '../../sql/leash.js'
import { UsageError } from '../flags.js'
import { programOf } from '../mix.js'
import { PROTOCOL, sideOfCode, TIMEOUT } from './errors.js'
import { distributionOf, trafficOf } from './tally.js'

const LOCUSTFILE = new URL('locust/locustfile.py', import.meta.url)

/** Beyond it and the timeout, a phase hangs. */
const GRACE_S = 10
const START_TIMEOUT_MS = 60_000

/**
 * Closed loop by locust: each connection is a user of its own (FastHttpUser), and as many workers as there are cores share
 * them. Its interpreter is its limit: a worker does some thousand requests per second.
 *
 * @type {import('./index.js').Driver}
 */
export const locust = {
  name: 'locust',
  loop: 'closed',

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
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'redline-locust-'))
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
 * @param {import('./index.js').Load} load
 * @param {AbortSignal} signal
 */
async function startSwarm(folder, load, signal) {
  const workers = Math.min(load.connections, os.availableParallelism())
  const port = await getPort({ host: '127.0.0.1' })
  const file = path.join(folder, 'locustfile.py')
  await fs.copyFile(LOCUSTFILE, file)
  await fs.writeFile(path.join(folder, 'program.json'), JSON.stringify(setupFor(load, workers)))
  const common = ['locust', `--locustfile=${file}`, '--headless', '--loglevel=ERROR']
  const bound = ['--master', '--master-bind-host=127.0.0.1', `--master-bind-port=${port}`]
  const users = [`--users=${load.connections}`, `--spawn-rate=${load.connections}`, `--expect-workers=${workers}`]
  const joined = ['--worker', '--master-host=127.0.0.1', `--master-port=${port}`]
  const master = start([...common, ...bound, ...users, '--only-summary'])
  const children = [master, ...Array.from({ length: workers }, () => start([...common, ...joined], 'ignore'))]
  const ended = children.map(async ({ child, words }) => {
    const [code, by] = await once(child, 'exit')
    throw new Error(`locust ended by itself (${by ?? `code ${code}`}): ${words().slice(-500) || '(no words)'}`)
  })
  for (const end of ended) end.catch(() => {})
  const answers = new EventEmitter()
  createInterface({ input: /** @type {import('node:stream').Readable} */ (master.child.stdout) }).on('line', (line) => {
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
        return (await Promise.race([answered, ...ended]))[0]
      } catch (error) {
        signal.throwIfAborted()
        throw bounds.aborted ? new Error(`locust did not answer within ${limit_ms / 1000} s`) : error
      }
    },
    stop: async () => {
      for (const { child } of children) child.kill('SIGKILL')
      await Promise.allSettled(ended)
    },
  }
  try {
    await swarm.ask(null, signal, START_TIMEOUT_MS)
    return swarm
  } catch (error) {
    await swarm.stop()
    throw error
  }
}

/** @param {string[]} command @param {'pipe' | 'ignore'} [stdout] */
function start(command, stdout = 'pipe') {
  const [program, ...args] = leashed(command, { signal: 'KILL' })
  const child = spawn(program, args, { stdio: ['pipe', stdout, 'pipe'] })
  let words = ''
  child.stderr?.on('data', (chunk) => {
    words += chunk
  })
  child.stdin?.on('error', () => {})
  return { child, words: () => words.trim() }
}

/** @param {import('./index.js').Load} load @param {number} workers */
function setupFor({ url, mix, trial, connections, timeout_s, fresh_connections }, workers) {
  const { origin, pathname, search } = new URL(url)
  const { entries, ...program } = programOf(mix, trial)
  const last = fresh_connections ? { Connection: 'close' } : {}
  const filled = entries.map(({ headers, path: own, ...entry }) => {
    return { ...entry, path: own ?? [pathname + search], headers: { ...Object.fromEntries(headers), ...last } }
  })
  return { origin, connections, workers, timeout_s, program: { ...program, entries: filled } }
}

/**
 * @typedef {[string | number, number][]} Pairs
 *
 * @typedef {object} Counts of one worker
 * @property {number} sent
 * @property {number} run_s to the last answer
 * @property {number} cpu_s
 * @property {Pairs} errors
 * @property {import('./tally.js').Counted[]} waited until the timeout
 * @property {Pairs} seconds
 * @property {Pairs} ok_seconds
 * @property {[name: string, Pairs][]} statuses
 * @property {[name: string, ok: boolean, import('./tally.js').Counted[]][]} latencies
 */

/** @param {Counts[]} counts @param {import('./index.js').Load} load @param {number} duration_s */
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
  const own = { ...traffic, threads: counts.length, children_cpu_s }
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
