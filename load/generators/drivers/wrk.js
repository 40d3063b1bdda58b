import { execFile } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeScratch } from '../../../sql/scratch.js'
import { collect, spawnLeashed } from '../../system/processes.js'
import { programOf } from '../mix.js'
import { sideOfText, TIMEOUT } from './errors.js'
import { headersOf } from './head.js'
import { trafficOf } from './recorder.js'
import { refuseHttpsAndHead, requireProgram } from './refuse.js'
import { distributionOf, totalOf } from './tally.js'

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { Driver, Load, Phase } from './index.js'
 * @import { Counted } from './tally.js'
 */

const SCRIPT = new URL('wrk/script.lua', import.meta.url)
/** wrk's clock looks whether it is to stop ten times a second, and its start may miss a signal. */
const SIGNAL_INTERVAL_MS = 50

/**
 * Closed loop by wrk, with as many threads as there are cores. It stops amid requests: those it cuts off were sent, and no answer
 * was expected. It reports neither the entry nor the time of a single answer, so there are no latencies by entry, and those of the
 * successes alone only where all succeeded.
 *
 * @type {Driver}
 */
export const wrk = {
  name: 'wrk',
  loop: 'closed',
  version: versionOfWrk,

  check(asked) {
    refuseHttpsAndHead('wrk', asked)
    requireProgram('wrk', 'apt-get install wrk')
  },

  async open(load) {
    const folder = makeScratch('wrk')
    let requests = 0
    return {
      async run(phase) {
        const result = await measure(folder, load, phase, requests)
        if ('failed' in result) return refusedTraffic(result.failed, phase.duration_s)
        requests += result.numbers
        return summarise(result, load)
      },
      close: () => fs.rm(folder, { recursive: true, force: true }),
    }
  },
}

/** @returns {Promise<string>} */
function versionOfWrk() {
  // It prints its version and its usage, and ends with 1.
  return new Promise((resolve) => {
    execFile('wrk', ['-v'], (_error, stdout) => resolve(stdout.match(/^wrk (\S+)/)?.[1] ?? 'unknown'))
  })
}

/**
 * @param {string} folder
 * @param {Load} load
 * @param {Phase} phase
 * @param {number} first number of the first request
 * @returns {Promise<Result | { failed: string }>} failed: why there was no load
 */
async function measure(folder, load, { duration_s, signal, onEnd }, first) {
  const threads = threadsFor(load.connections, os.availableParallelism())
  const script = path.join(folder, 'script.lua')
  const result = path.join(folder, 'result.json')
  await fs.rm(result, { force: true })
  const globals = { program: programFor(load), first, threads, result_file: result }
  const lines = Object.entries(globals).map(([name, value]) => `${name} = ${luaOf(value)}\n`)
  const text = lines.join('') + (await fs.readFile(SCRIPT, 'latin1'))
  await fs.writeFile(script, text, { encoding: 'latin1', mode: 0o600 })
  signal.throwIfAborted()
  const command = [
    ...['wrk', `--connections=${load.connections}`, `--threads=${threads}`, `--script=${script}`],
    ...[`--duration=${Math.ceil(duration_s)}s`, `--timeout=${Math.ceil(load.timeout_s)}s`],
    // The script sets path and query: everybody can read a command line.
    new URL(load.url).origin,
  ]
  const child = spawnLeashed(command, { stdio: ['ignore', 'ignore', 'pipe'], signal, killSignal: 'SIGKILL' })
  const words = collect(child.stderr)
  const ended = new AbortController()
  if (!Number.isInteger(duration_s)) interrupt(child, duration_s, ended.signal).catch(() => {})
  const [code] = await once(child, 'close', { signal }).finally(() => ended.abort())
  onEnd()
  const said = words().trim()
  if (code !== 0 && /unable to connect|unable to resolve/.test(said)) return { failed: said }
  if (code !== 0 || said) throw new Error(`wrk ended with code ${code}: ${said}`)
  const counted = JSON.parse(await fs.readFile(result, 'utf8'))
  return { ...counted, threads, numbers: (counted.most + 1) * threads }
}

/**
 * wrk takes whole seconds; SIGINT ends it in between.
 *
 * @param {ChildProcess} child
 * @param {number} after_s
 * @param {AbortSignal} signal
 */
async function interrupt(child, after_s, signal) {
  for (let wait_ms = after_s * 1000; ; wait_ms = SIGNAL_INTERVAL_MS) {
    await pause(wait_ms, undefined, { signal })
    child.kill('SIGINT')
  }
}

/**
 * @typedef {object} Result
 * @property {number} threads
 * @property {number} numbers of requests that were given out
 * @property {number} sent
 * @property {number} requests that were answered
 * @property {number} duration_us
 * @property {number} connect errors, as read and write
 * @property {number} read
 * @property {number} write
 * @property {number} timeout answers that came later than the timeout: no part of the histogram
 * @property {Record<string, number>} status
 * @property {Record<string, number>} seconds two rows for each second: all answers, and the successes
 * @property {Counted[]} histogram with the values that wrk makes up
 */

/** Pure. @param {Result} result @param {Pick<Load, 'connections' | 'timeout_s'>} load */
export function summarise(result, { connections, timeout_s }) {
  const { sent, requests, duration_us, status, timeout } = result
  const answered = requests - timeout
  const silent = requests - totalOf(Object.values(status), (count) => count)
  if (silent > 0) throw new Error(`wrk does not tell the status of answers without header fields, and got ${silent}`)
  const interval_us = Math.floor(duration_us / Math.max(1, Math.floor(requests / connections)))
  const latencies = requests < connections ? result.histogram : measuredOnly(result.histogram, interval_us)
  const found = totalOf(latencies, ([, count]) => count)
  if (found !== answered) throw new Error(`expected ${answered} latencies of wrk, got ${found}`)
  // Of the last ones it cannot be known whether the server closed or wrk's end did.
  const closed = Math.max(0, sent - requests - result.read - result.write - connections)
  const lost = result.connect + result.read + result.write + closed
  // Without a single answer, every one of them has waited since the start.
  const run_s = duration_us / 1e6
  const hung = requests + lost === 0 && run_s >= timeout_s ? sent : 0
  const allOk = Object.keys(status).every((code) => code[0] === '2')
  const traffic = trafficOf({
    planned: requests + lost + hung,
    sent,
    run_s,
    status: withoutLate(status, timeout),
    errors: {
      'unknown:connect': result.connect,
      'server:closed': result.read + closed,
      'server:reset': result.write,
      [TIMEOUT]: timeout + hung,
    },
    per_second: perSecond(result.seconds),
    latency_ms: distributionOf([...latencies, [timeout_s * 1e6, timeout + hung]]),
    ok_latency_ms: distributionOf(allOk ? latencies : []),
    ...{ lateness_ms: null, queued_ms: null },
  })
  return { ...traffic, threads: result.threads }
}

/**
 * wrk counts the status of an answer that came after its timeout, and does not tell which it was: a success, as far as
 * there are any.
 *
 * @param {Record<string, number>} status
 * @param {number} late
 */
function withoutLate(status, late) {
  const successesFirst = Object.entries(status).sort(([a], [b]) => Number(b[0] === '2') - Number(a[0] === '2'))
  let left = late
  const counts = successesFirst.map(([code, count]) => {
    const taken = Math.min(left, count)
    left -= taken
    return [code, count - taken]
  })
  return Object.fromEntries(counts.filter(([, count]) => Number(count) > 0))
}

/**
 * Without the values that wrk 4 makes up for the requests which an open loop would have sent (stats_correct in
 * src/stats.c): for each measured value v it adds v - e, v - 2e, … down to e. So what is left of a value above e are
 * those at v less those at v + e.
 *
 * @param {Counted[]} histogram rising
 * @param {number} expected_us e: the mean time between two requests of a connection
 * @returns {Counted[]}
 */
export function measuredOnly(histogram, expected_us) {
  const counts = new Map(histogram)
  return histogram
    .map(([us, count]) => {
      const made = us > expected_us ? (counts.get(us + expected_us) ?? 0) : 0
      return /** @type {Counted} */ ([us, count - made])
    })
    .filter(([, count]) => count > 0)
}

/** @param {Record<string, number>} seconds */
function perSecond(seconds) {
  const last = Math.max(-2, ...Object.keys(seconds).map(Number))
  return Array.from({ length: Math.floor(last / 2) + 1 }, (_, second) => ({
    completed: seconds[2 * second] ?? 0,
    ok: seconds[2 * second + 1] ?? 0,
  }))
}

/** wrk tries a connection before it begins, and does not begin without. @param {string} words @param {number} run_s */
function refusedTraffic(words, run_s) {
  const side = /unable to resolve/.test(words) ? 'client:dns' : sideOfText(words.toLowerCase())
  const nothing = {
    status: {},
    per_second: [],
    latency_ms: null,
    ok_latency_ms: null,
    lateness_ms: null,
    queued_ms: null,
  }
  return trafficOf({ planned: 1, sent: 1, run_s, errors: { [side]: 1 }, ...nothing })
}

/**
 * It gives each thread the same number of connections, and leaves out the rest.
 *
 * @param {number} connections
 * @param {number} cores
 */
export function threadsFor(connections, cores) {
  for (let threads = Math.min(connections, cores); threads > 1; threads--) {
    if (connections % threads === 0) return threads
  }
  return 1
}

/** @param {Load} load */
function programFor({ url, mix, trial, fresh_connections }) {
  const { host, pathname, search } = new URL(url)
  const { entries, ...program } = programOf(mix, trial)
  return {
    ...program,
    entries: entries.map((entry) => ({
      ...{ method: entry.method, body: entry.body, up_to: entry.up_to, path: entry.path ?? [pathname + search] },
      head: headersOf(host, entry, { last: fresh_connections }),
      bodiless: entry.method === 'GET',
    })),
  }
}

/** @param {any} value @returns {string} as Lua writes it; a text is one byte a character */
function luaOf(value) {
  if (typeof value === 'string') {
    return `"${value.replace(/[^ !#-[\]-~]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`)}"`
  }
  if (Array.isArray(value)) return `{${value.map(luaOf).join(',')}}`
  if (typeof value !== 'object') return String(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${name}=${luaOf(one)}`)
    .join(',')}}`
}
