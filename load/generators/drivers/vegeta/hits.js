import { once } from 'node:events'
import { collect, spawnLeashed } from '../../../system/processes.js'
import { sideOfText, UNSENT } from '../errors.js'
import { LOOKS } from '../pacing.js'
import { Recorder } from '../recorder.js'
import { constantRate } from '../schedule.js'
import { shareOf } from './attack.js'

/**
 * @import { LoadHost } from '../../hosts/prepare.js'
 * @import { Load } from '../index.js'
 * @import { Part, Ran } from './attack.js'
 * @import { Readable } from 'node:stream'
 * @import { HostTraffic, Traffic } from '../../../report/record.js'
 */

/** A row of `vegeta encode -to csv`: timestamp ns, code, latency ns, bytes out, bytes in, error, body, attack, seq, method, URL with the number of the entry. */
const CSV_ROW = /^(\d+),(\d+),(\d+),\d+,\d+,("(?:[^"]|"")*"|[^,]*),[^,]*,(\d+),(\d+),[A-Z-]*,(?:[^#]*#(\d+)"?,)?/

/** Text with which a worker reports the end of the targets; vegeta counts it as a result. */
const NO_TARGETS = 'no targets to attack'
/** Handover time: a worker that takes its next request within it counts as busy throughout. */
const HANDOVER_MS = 0.5
/** Shortest free spell that counts: while vegeta works off a backlog, workers are briefly free although it is not stalled. */
const LEAST_SPELL_MS = 5

/**
 * Reads the hits of all parts from their files, which vegeta itself merges.
 * @param {string} program @param {string[]} files @param {AbortSignal} signal
 * @typedef {{ hits: Hit[], base_ns: bigint }} Hits of one part, sorted by begin; base_ns: the part's clock at begin 0
 * @typedef {{ seq: number, begin_ms: number, latency_ms: number, status: number, error: string, entry: number }} Hit
 *   begin: since the part's first row, by the part's own clock; latency: by vegeta; status: 0 if there was no response; entry: its number in the mix
 */
export async function hitsOf(program, files, signal) {
  const child = spawnLeashed([program, 'encode', '-to=csv', ...files], { stdio: ['ignore', 'pipe', 'pipe'], signal })
  const words = collect(child.stderr)
  const exited = once(child, 'exit')
  exited.catch(() => {})
  /** @type {Map<number, Hits>} by part */
  const parts = new Map()
  for await (const line of linesOf(/** @type {Readable} */ (child.stdout))) {
    const match = CSV_ROW.exec(line)
    // The line itself may contain secrets, such as the response.
    if (!match) throw new Error(`expected a row of vegeta's CSV, got ${line.split(',').length} fields that do not fit`)
    const [, timestamp_ns, status, latency_ns, error, name, seq, entry = 0] = match
    if (error === NO_TARGETS) continue
    const { hits, base_ns } = parts.get(Number(name)) ?? { hits: [], base_ns: BigInt(timestamp_ns) }
    const begin_ms = Number(BigInt(timestamp_ns) - base_ns) / 1e6
    const latency_ms = Number(latency_ns) / 1e6
    hits.push({ seq: Number(seq), begin_ms, latency_ms, status: Number(status), error, entry: Number(entry) })
    parts.set(Number(name), { hits, base_ns })
  }
  signal.throwIfAborted()
  const [code] = await exited
  if (code !== 0) throw new Error(`vegeta encode ended with code ${code}: ${words().trim()}`)
  for (const { hits } of parts.values()) hits.sort((a, b) => a.begin_ms - b.begin_ms)
  return parts
}

/** Splits at line feeds alone: a response may have put any other line break into an error, at which node:readline would split, too. @param {Readable} stream */
async function* linesOf(stream) {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = /** @type {string} */ (lines.pop())
    yield* lines
  }
  if (rest) yield rest
}

/**
 * Summarizes the traffic of all parts. Each request follows the schedule and clock of its own part.
 * @param {Map<number, Hits>} found @param {{ part: Part, ran: Ran }[]} parts @param {Load} load @param {number} duration_s
 * @returns {Traffic}
 */
export function summarise(found, parts, load, duration_s) {
  const { total, dueBy } = constantRate(Number(load.rate_rps), duration_s)
  const shares = parts.map(({ part, ran }) => {
    const { hits, base_ns } = found.get(part.index) ?? { hits: [], base_ns: 0n }
    return { part, ran, base_ns, planned: shareOf(part, total), ...samplesOf(hits, part, load) }
  })
  const samples = shares.flatMap((share) => share.samples)
  const looks_ms = Array.from({ length: LOOKS }, (_, i) => ((i + 1) * duration_s * 1000) / LOOKS)
  const backlog = looks_ms.map((look_ms) => dueBy(look_ms) - samples.filter(({ end_ms }) => end_ms <= look_ms).length)
  const traffic = { ...recorderOf(samples, total, load).summary(total, duration_s), backlog }
  if (!load.load_hosts) return traffic
  return { ...traffic, hosts: shares.map((share) => hostTrafficOf(share, load, duration_s)) }
}

/** Time from one request of a part to its next: vegeta counts whole nanoseconds (lib/pacer.go). @param {Part} part @param {number | null} rate_rps */
function intervalOf_ms({ of }, rate_rps) {
  return Math.floor((of * 1e9) / Number(rate_rps)) / 1e6
}

/** @param {Hit[]} hits @param {Part} part @param {Load} load @returns the part's start, and all its requests relative to it */
function samplesOf(hits, part, { rate_rps, connections, unbounded }) {
  const interval_ms = intervalOf_ms(part, rate_rps)
  const dueAt_ms = (/** @type {Hit} */ { seq }) => seq * interval_ms
  // vegeta does not report its start: the best estimate is the earliest one that makes no request early.
  const start_ms = hits.reduce((least, hit) => Math.min(least, hit.begin_ms - dueAt_ms(hit)), 0)
  const spells = freeSpells(hits, shareOf(part, connections), start_ms)
  const [freeToDue, freeToBegin] = [timeWithin(spells), timeWithin(spells)]
  const samples = hits.map((hit) => {
    const due_ms = start_ms + dueAt_ms(hit)
    const slip_ms = hit.begin_ms - due_ms
    // While all workers wait for answers, a late start is the target's fault; while one is free, it is vegeta's.
    const late_ms = unbounded ? slip_ms : freeToBegin(hit.begin_ms) - freeToDue(due_ms)
    return { ...hit, slip_ms, late_ms, end_ms: hit.begin_ms - start_ms + hit.latency_ms }
  })
  return { start_ms, samples }
}

/** @param {ReturnType<typeof samplesOf>['samples']} samples @param {number} planned @param {Partial<Load>} load */
function recorderOf(samples, planned, { mix }) {
  const recorder = new Recorder(mix?.entries)
  for (const { status, error, entry, slip_ms, late_ms, latency_ms, end_ms } of samples) {
    recorder.sent++
    recorder.lateness.add(late_ms)
    recorder.queued.add(slip_ms)
    const name = mix?.entries?.[entry].name
    if (status === 0) recorder.error(sideOfText(error), slip_ms + latency_ms, name)
    else recorder.answer(status, slip_ms + latency_ms, end_ms, name, latency_ms)
  }
  for (let unsent = planned - samples.length; unsent > 0; unsent--) recorder.error(UNSENT)
  return recorder
}

/**
 * @param {ReturnType<typeof samplesOf> & { part: Part, ran: Ran, base_ns: bigint, planned: number }} share
 * @param {Load} load @param {number} duration_s @returns {HostTraffic}
 */
function hostTrafficOf({ part, ran, base_ns, planned, start_ms, samples }, { rate_rps }, duration_s) {
  const { sent, completed, errors, lateness_ms } = recorderOf(samples, planned, {}).summary(planned, duration_s)
  const { told_ns, word_ms, cpu_s } = ran
  // Both times come from the host's clock. vegeta's first request is due one interval after its start.
  const base_ms = Number(base_ns - (told_ns ?? 0n)) / 1e6 - intervalOf_ms(part, rate_rps)
  const isKnown = told_ns !== null && base_ns !== 0n
  // vegeta runs until its last answer.
  const ran_s = samples.reduce((most_s, { end_ms }) => Math.max(most_s, end_ms / 1000), duration_s)
  const { host, cores } = /** @type {LoadHost} */ (part.host)
  return {
    ...{ host, planned, sent, completed, errors, lateness_ms, word_ms, cpu_s, cores },
    start_ms: isKnown ? Number((base_ms + start_ms).toFixed(1)) : null,
    cpu_core_ratio: cpu_s === null ? null : Number((cpu_s / ran_s).toFixed(3)),
  }
}

/**
 * Finds the spells in which a worker was free; the last one has no end. Whether one was free when a hit began does not tell
 * why the hit was late: a stalled vegeta fills all its workers as soon as it resumes. @param {Hit[]} hits sorted by begin
 * @param {number} workers @param {number} start_ms
 */
function freeSpells(hits, workers, start_ms) {
  const ends = hits.map((hit) => hit.begin_ms + hit.latency_ms + HANDOVER_MS).sort((a, b) => a - b)
  const spells = []
  let from_ms = start_ms
  let ended = 0
  for (const [begun, { begin_ms }] of hits.entries()) {
    for (; ends[ended] <= begin_ms; ended++) {
      if (begun - ended === workers) from_ms = ends[ended]
    }
    const fills = begun + 1 - ended === workers
    if (fills && begin_ms - from_ms >= LEAST_SPELL_MS) spells.push({ from_ms, to_ms: begin_ms })
  }
  const isFull = hits.length - ended >= workers
  return [...spells, { from_ms: isFull ? Number.POSITIVE_INFINITY : from_ms, to_ms: Number.POSITIVE_INFINITY }]
}

/** Creates a function that totals the spells before a time; its arguments must ascend. @param {ReturnType<typeof freeSpells>} spells */
function timeWithin(spells) {
  let passed = 0
  let before_ms = 0
  return (/** @type {number} */ time_ms) => {
    for (; spells[passed].to_ms <= time_ms; passed++) before_ms += spells[passed].to_ms - spells[passed].from_ms
    return before_ms + Math.max(0, time_ms - spells[passed].from_ms)
  }
}
