import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { sideOfText, TIMEOUT, UNSENT } from '../errors.js'
import { Recorder, Samples } from '../recorder.js'
import { constantRate } from '../schedule.js'
import { shareOf } from './attack.js'

/** timestamp ns, code, latency ns, bytes out, bytes in, error, body, attack, seq: what `vegeta encode -to csv` writes. */
const CSV_ROW = /^(\d+),(\d+),(\d+),\d+,\d+,("(?:[^"]|"")*"|[^,]*),[^,]*,(\d+),(\d+),/

/** A worker's word for "the list is at its end", which vegeta counts as a result. */
const NO_TARGETS = 'no targets to attack'

/**
 * @typedef {object} Hit times in ms; begin since the part's first row, by the part's own clock
 * @property {number} seq
 * @property {number} begin_ms
 * @property {number} latency_ms as vegeta counts it
 * @property {number} status 0 without an answer
 * @property {string} error
 *
 * @typedef {object} Hits of one part
 * @property {Hit[]} hits in the order of begin
 * @property {bigint} base_ns of that part's clock at begin 0
 */

/**
 * The hits of all parts, whose files vegeta itself merges.
 *
 * @param {string} program
 * @param {string[]} files
 * @param {AbortSignal} signal
 * @returns {Promise<Map<number, Hits>>} by part
 */
export async function hitsOf(program, files, signal) {
  const child = spawn(program, ['encode', '-to=csv', ...files], { stdio: ['ignore', 'pipe', 'inherit'], signal })
  const exited = once(child, 'exit')
  exited.catch(() => {})
  /** @type {Map<number, Hits>} */
  const parts = new Map()
  for await (const line of createInterface({ input: child.stdout })) {
    const match = CSV_ROW.exec(line)
    if (!match) throw new Error(`expected a row of vegeta's CSV, got ${JSON.stringify(line.slice(0, 200))}`)
    const [, timestamp_ns, status, latency_ns, error, name, seq] = match
    if (error === NO_TARGETS) continue
    const part = Number(name)
    const own = parts.get(part) ?? { hits: [], base_ns: BigInt(timestamp_ns) }
    parts.set(part, own)
    const begin_ms = Number(BigInt(timestamp_ns) - own.base_ns) / 1e6
    own.hits.push({ seq: Number(seq), begin_ms, latency_ms: Number(latency_ns) / 1e6, status: Number(status), error })
  }
  signal.throwIfAborted()
  const [code] = await exited
  if (code !== 0) throw new Error(`vegeta encode ended with code ${code}; its words are above`)
  for (const { hits } of parts.values()) hits.sort((a, b) => a.begin_ms - b.begin_ms)
  return parts
}

/**
 * All parts as one: every sample is in it, and each is by its own part's schedule and clock.
 *
 * @param {Map<number, Hits>} found
 * @param {{ part: import('./attack.js').Part, ran: import('./attack.js').Ran }[]} parts
 * @param {import('../index.js').Load} load
 * @param {number} duration_s
 * @returns {import('../recorder.js').Traffic}
 */
export function summarise(found, parts, load, duration_s) {
  const { total } = constantRate(Number(load.rate_rps), duration_s)
  const recorder = new Recorder()
  const hosts = parts.map(({ part, ran }) => {
    const own = found.get(part.index) ?? { hits: [], base_ns: 0n }
    return record(recorder, own, { part, ran, total }, load, duration_s)
  })
  const traffic = recorder.summary(total, duration_s)
  return load.load_hosts ? { ...traffic, hosts } : traffic
}

/**
 * @param {Recorder} recorder
 * @param {Hits} own
 * @param {{ part: import('./attack.js').Part, ran: import('./attack.js').Ran, total: number }} context
 * @param {import('../index.js').Load} load
 * @param {number} duration_s
 * @returns {HostTraffic}
 */
function record(recorder, { hits, base_ns }, { part, ran, total }, load, duration_s) {
  const { rate_rps, connections, unbounded } = load
  const interval_ms = (part.of * 1000) / Number(rate_rps)
  const dueAt_ms = (/** @type {Hit} */ { seq }) => seq * interval_ms
  const planned = shareOf(part, total)
  const workers = shareOf(part, connections)
  const lateness = new Samples()
  // vegeta does not tell when it started: the earliest start that makes no request early is the best there is.
  const start_ms = hits.reduce((least, hit) => Math.min(least, hit.begin_ms - dueAt_ms(hit)), 0)
  const busy = busyWorkers(hits)
  let completed = 0
  /** @type {Record<string, number>} */
  const errors = {}
  const failed = (/** @type {string} */ side, /** @type {number} */ latency_ms) => {
    errors[side] = (errors[side] ?? 0) + 1
    recorder.error(side, side === TIMEOUT ? latency_ms : undefined)
  }
  for (const [i, hit] of hits.entries()) {
    const slip_ms = hit.begin_ms - start_ms - dueAt_ms(hit)
    // With all workers waiting for answers, a late start is the target's doing; with one free, it is vegeta's.
    const late_ms = busy[i] >= workers && !unbounded ? 0 : slip_ms
    recorder.late(late_ms)
    lateness.add(late_ms)
    recorder.sent++
    recorder.queued(slip_ms)
    const latency_ms = slip_ms + hit.latency_ms
    if (hit.status === 0) {
      failed(sideOfText(hit.error), latency_ms)
      continue
    }
    completed++
    recorder.answer(hit.status, latency_ms, hit.begin_ms - start_ms + hit.latency_ms)
  }
  for (let unsent = planned - hits.length; unsent > 0; unsent--) failed(UNSENT, 0)
  return {
    host: part.host?.host ?? '',
    planned,
    sent: hits.length,
    completed,
    errors,
    lateness_ms: lateness.distribution(),
    start_ms: startDelay_ms(ran.told_ns, base_ns, start_ms - interval_ms),
    cpu_s: ran.cpu_s,
    cpu_core_ratio: ran.cpu_s === null ? null : Number((ran.cpu_s / duration_s).toFixed(3)),
    cores: part.host?.cores ?? null,
  }
}

/**
 * @typedef {object} HostTraffic what one of several hosts did of a load
 * @property {string} host
 * @property {number} [planned]
 * @property {number} sent
 * @property {number} completed
 * @property {Record<string, number>} errors
 * @property {import('../recorder.js').Distribution | null} lateness_ms by its own schedule and clock; null where the loop has none
 * @property {number | null} start_ms from the word to begin to the beginning, by its own clock; null: not told
 * @property {number | null} cpu_s of the generator there; null: not seen
 * @property {number | null} cpu_core_ratio
 * @property {number | null} cores that it can use there
 */

/**
 * Both are times of one host. vegeta's first request is due an interval after it began.
 *
 * @param {bigint | null} told_ns @param {bigint} base_ns @param {number} began_ms since base
 */
function startDelay_ms(told_ns, base_ns, began_ms) {
  if (told_ns === null || base_ns === 0n) return null
  return Number((Number(base_ns - told_ns) / 1e6 + began_ms).toFixed(1))
}

/**
 * How many workers were busy when each hit began, itself included. A worker that takes the next request at once counts
 * as busy throughout, hence the tolerance.
 *
 * @param {Hit[]} hits in the order of begin
 * @returns {number[]}
 */
function busyWorkers(hits) {
  const HANDOVER_MS = 0.5
  const ends = hits.map((hit) => hit.begin_ms + hit.latency_ms + HANDOVER_MS).sort((a, b) => a - b)
  let ended = 0
  return hits.map(({ begin_ms }, i) => {
    while (ends[ended] <= begin_ms) ended++
    return i + 1 - ended
  })
}
