import { once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { makeScratch } from '../../../sql/scratch.js'
import { collect, spawnLeashed, versionOf } from '../../system/processes.js'
import { programOf } from '../mix.js'
import { bytesOf } from '../template.js'
import { sideOfText, TIMEOUT } from './errors.js'
import { headersOf } from './head.js'
import { Samples, totalOf, trafficOf } from './recorder.js'
import { refuseHttpsAndHead, refuseTaking, requireProgram } from './refuse.js'

/** @import { Driver, Load, Phase } from './index.js' */

const SCRIPT = new URL('wrk/script.lua', import.meta.url)
/** wrk checks ten times a second whether to stop, and may miss a signal while it starts. */
const SIGNAL_INTERVAL_MS = 50
/** Time to exit, beyond the duration and the timeout: while a response continues, wrk reads it without checking the clock. */
const LATEST_END_S = 5
/** Request numbers skipped when wrk cannot tell how many it used: more than a phase ever sends. */
const UNCOUNTED_REQUESTS = 1e8

/**
 * Closed loop by wrk, with one thread per core. When it stops, it drops the requests in flight: they count as sent, and no
 * response to them is expected. It reports neither the entry nor the latency of a single response, so there are no latencies by
 * entry, and latencies of successes only if all requests succeeded.
 * @type {Driver}
 */
export const wrk = {
  name: 'wrk',
  loop: 'closed',
  version: async () => versionOf('wrk', '-v', /^wrk (\S+)/),
  check(asked) {
    refuseHttpsAndHead('wrk', asked)
    refuseTaking('wrk', asked)
    requireProgram('wrk', 'apt-get install wrk')
  },
  async open(load) {
    const folder = makeScratch('wrk')
    let requests = 0
    return {
      async run(phase) {
        const result = await measure(folder, load, phase, requests)
        if ('errors' in result) {
          requests += UNCOUNTED_REQUESTS
          const sent = totalOf(Object.values(result.errors), (count) => count)
          return trafficOf({ planned: sent, sent, run_s: phase.duration_s, ...result })
        }
        requests += result.numbers
        return summarise(result, load)
      },
      close: () => fs.rm(folder, { recursive: true, force: true }),
    }
  },
}

/**
 * @param {string} folder @param {Load} load @param {Phase} phase @param {number} first number of the first request
 * @returns {Promise<Result | { errors: Record<string, number> }>} errors: what kept the load from starting or from
 *   finishing
 */
async function measure(folder, load, { duration_s, signal, onEnd }, first) {
  const threads = threadsFor(load.connections, os.availableParallelism())
  const [script, result_file] = [path.join(folder, 'script.lua'), path.join(folder, 'result.json')]
  await fs.rm(result_file, { force: true })
  const globals = Object.entries({ program: programFor(load), first, threads, result_file: bytesOf(result_file) })
  const lines = globals.map(([name, value]) => `${name} = ${luaOf(value)}\n`)
  const text = lines.join('') + (await fs.readFile(SCRIPT, 'latin1'))
  await fs.writeFile(script, text, { encoding: 'latin1', mode: 0o600 })
  signal.throwIfAborted()
  const command = [
    ...['wrk', `--connections=${load.connections}`, `--threads=${threads}`, `--script=${script}`],
    ...[`--duration=${Math.ceil(duration_s)}s`, `--timeout=${Math.ceil(load.timeout_s)}s`],
    // The script sets path and query: any user can read a command line.
    new URL(load.url).origin,
  ]
  const child = spawnLeashed(command, { stdio: ['ignore', 'ignore', 'pipe'], signal, killSignal: 'SIGKILL' })
  const words = collect(child.stderr)
  const interrupt = () => {
    child.kill('SIGINT')
    timer = setTimeout(interrupt, SIGNAL_INTERVAL_MS)
  }
  // wrk accepts only whole seconds; SIGINT stops it in between.
  let timer = Number.isInteger(duration_s) ? undefined : setTimeout(interrupt, duration_s * 1000)
  let isEndless = false
  const most_s = duration_s + load.timeout_s + LATEST_END_S
  const deadline = setTimeout(() => {
    isEndless = true
    child.kill('SIGKILL')
  }, most_s * 1000)
  const [code] = await once(child, 'close', { signal }).finally(() => {
    clearTimeout(timer)
    clearTimeout(deadline)
  })
  onEnd()
  if (isEndless) return { errors: { [TIMEOUT]: load.connections } }
  const said = words().trim()
  // wrk tries a connection before it starts, and exits if that fails.
  if (code !== 0 && /unable to resolve/.test(said)) return { errors: { 'client:dns': 1 } }
  if (code !== 0 && /unable to connect/.test(said)) return { errors: { [sideOfText(said.toLowerCase())]: 1 } }
  if (code !== 0 || said) throw new Error(`wrk ended with code ${code}: ${said}`)
  const counted = JSON.parse(await fs.readFile(result_file, 'utf8'))
  return { ...counted, threads, numbers: (counted.most + 1) * threads }
}

/**
 * @typedef {Record<'threads' | 'numbers' | 'sent' | 'requests' | 'duration_us' | 'connect' | 'read' | 'write' | 'timeout', number> &
 *   { status: Record<string, number>, seconds: Record<string, number>, histogram: Counted[] }} Result numbers: request numbers
 *   used; requests: responses; connect, read, write: errors; timeout: responses after the timeout, which the histogram lacks; seconds:
 *   two rows per second: other responses, then successes; histogram: includes the values that wrk makes up
 * @typedef {[latency_us: number, count: number]} Counted
 */

/** Pure. @param {Result} result @param {Pick<Load, 'connections' | 'timeout_s'>} load */
export function summarise(result, { connections, timeout_s }) {
  const { sent, requests, duration_us, status, seconds, timeout } = result
  const answered = requests - timeout
  const timeout_us = timeout_s * 1e6
  const silent = requests - totalOf(Object.values(status), (count) => count)
  if (silent > 0) throw new Error(`wrk does not tell the status of answers without header fields, and got ${silent}`)
  const interval_us = Math.floor(duration_us / Math.max(1, Math.floor(requests / connections)))
  const latencies = requests < connections ? result.histogram : measuredOnly(result.histogram, interval_us)
  const found = totalOf(latencies, ([, count]) => count)
  if (found !== answered) throw new Error(`expected ${answered} latencies of wrk, got ${found}`)
  // wrk's own timeout is a whole number of seconds.
  const inTime = latencies.filter(([latency_us]) => latency_us <= timeout_us)
  const late = timeout + found - totalOf(inTime, ([, count]) => count)
  // wrk's own exit may have cut off one request per connection.
  const closed = Math.max(0, sent - requests - result.read - result.write - connections)
  const lost = result.connect + result.read + result.write + closed
  // Without a single response, every request has waited since the start.
  const run_s = duration_us / 1e6
  const hung = requests + lost === 0 && run_s >= timeout_s ? sent : 0
  const allOk = Object.keys(status).every((code) => code[0] === '2')
  const last = Math.max(-1, ...Object.keys(seconds).map(Number))
  const per_second = Array.from({ length: Math.floor(last / 2) + 1 }, (_, second) => {
    const [other = 0, ok = 0] = [seconds[2 * second], seconds[2 * second + 1]]
    return { completed: other + ok, ok }
  })
  const errors = {
    'unknown:connect': result.connect,
    'server:closed': result.read + closed,
    'server:reset': result.write,
    [TIMEOUT]: late + hung,
  }
  const traffic = trafficOf({
    ...{ planned: requests + lost + hung, sent, run_s, status: withoutLate(status, late), errors, per_second },
    latency_ms: distributionOf([...inTime, [timeout_us, late + hung]]),
    ok_latency_ms: distributionOf(allOk ? inTime : []),
  })
  return { ...traffic, threads: result.threads }
}

/** Removes late responses, which wrk counts by status too. @param {Record<string, number>} status @param {number} late */
function withoutLate(status, late) {
  // wrk does not say which were late: assume successes as long as there are any.
  const counts = Object.entries(status).sort(([a], [b]) => Number(b[0] === '2') - Number(a[0] === '2'))
  let left = late
  for (const row of counts) {
    const taken = Math.min(left, row[1])
    row[1] -= taken
    left -= taken
  }
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

/**
 * Removes the values that wrk 4 makes up for requests that an open loop would have sent (stats_correct in src/stats.c): for
 * each measured value v it adds v - e, v - 2e, … down to e. The measured count of a value above e is thus the count at v less
 * the count at v + e.
 * @param {Counted[]} histogram ascending @param {number} expected_us e: mean time between two requests of a connection
 */
export function measuredOnly(histogram, expected_us) {
  const counts = new Map(histogram)
  return histogram.flatMap(([us, count]) => {
    const made = us > expected_us ? (counts.get(us + expected_us) ?? 0) : 0
    return count > made ? [/** @type {Counted} */ ([us, count - made])] : []
  })
}

/** @param {Counted[]} latencies */
function distributionOf(latencies) {
  const samples = new Samples()
  for (const [us, count] of latencies) for (let i = 0; i < count; i++) samples.add(us / 1000)
  return samples.distribution()
}

/** Largest usable number of threads: wrk gives each the same number of connections, and drops the rest. @param {number} connections @param {number} cores */
export function threadsFor(connections, cores) {
  let threads = Math.min(connections, cores)
  while (connections % threads !== 0) threads--
  return threads
}

/** @param {Load} load */
function programFor({ url, mix, trial, fresh_connections }) {
  const { host } = new URL(url)
  const program = programOf(mix, trial, url)
  const entries = program.entries.map(({ name, headers, ...own }) => {
    return { ...own, head: headersOf(host, headers, fresh_connections), bodiless: own.method === 'GET' }
  })
  return { ...program, entries }
}

/** Writes a value as a Lua literal; a string has one byte per character. @param {any} value @returns {string} */
function luaOf(value) {
  if (typeof value === 'string') {
    return `"${value.replace(/[^ !#-[\]-~]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`)}"`
  }
  if (Array.isArray(value)) return `{${value.map(luaOf).join(',')}}`
  if (typeof value !== 'object') return String(value)
  const fields = Object.entries(value).map(([name, one]) => `${name}=${luaOf(one)}`)
  return `{${fields.join(',')}}`
}
