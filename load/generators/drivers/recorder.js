import { createHistogram } from 'node:perf_hooks'
import { TIMEOUT, UNSENT } from './errors.js'

/**
 * @import { RecordableHistogram } from 'node:perf_hooks'
 * @import { Distribution, Traffic } from '../../report/record.js'
 */

const PERCENTILES = { p25: 0.25, p50: 0.5, p75: 0.75, p90: 0.9, p95: 0.95, p99: 0.99, p999: 0.999 }

/** Tick fine enough to resolve the slices of a proof, the shortest of which last a second. */
const TICK_MS = 25

/** Records the outcome of each request and summarizes them. */
export class Recorder {
  #latencies
  #okLatencies
  #okServices
  /** Delay in ms between a request's intended send time and the generator noticing it: the generator's own fault. */
  lateness
  /** Delay in ms from the intended to the actual send time: lateness plus the wait for a connection. */
  queued
  /** @type {Record<string, number>} */
  #status = {}
  /** @type {Record<string, number>} */
  #errors = {}
  /** @type {{ completed: number, ok: number }[]} */
  #seconds = []
  #lastAnswer_ms = 0
  /** @type {{ start_ms: number, tick_ms: number, ok: number[] } | null} */
  #ticks
  #byEntry
  sent = 0
  completed = 0
  ok = 0
  failed = 0

  /**
   * @param {{ name: string }[]} [entries] of a mix: answers are also counted per entry
   * @param {boolean} [isSliced] successes are also counted per tick, from now on
   * @param {number} [expected] number of requests, if known
   */
  constructor(entries, isSliced = false, expected = undefined) {
    this.#latencies = new Samples(expected)
    this.#okLatencies = new Samples(expected)
    this.#okServices = new Samples(expected)
    this.lateness = new Samples(expected)
    this.queued = new Samples(expected)
    const start_ms = Date.now()
    this.#ticks = isSliced ? { start_ms, tick_ms: TICK_MS, ok: [] } : null
    this.#byEntry =
      entries &&
      new Map(entries.map(({ name }) => [name, { completed: 0, ok: 0, failed: 0, latencies: new Samples(expected) }]))
  }

  /**
   * @param {number} status
   * @param {number} latency_ms from the intended send time, if any
   * @param {number} at_ms time of the answer since the start of the phase
   * @param {string} [name] of the mix entry
   * @param {number} [service_ms] from the actual send time, if that may differ
   */
  answer(status, latency_ms, at_ms, name = '', service_ms = undefined) {
    const ok = status >= 200 && status < 300
    const second = this.#second(at_ms)
    this.completed++
    second.completed++
    if (ok) {
      this.ok++
      second.ok++
      if (this.#ticks) countIn(this.#ticks.ok, Math.floor(at_ms / TICK_MS))
      this.#okLatencies.add(latency_ms)
      if (service_ms !== undefined) this.#okServices.add(service_ms)
    }
    const entry = this.#byEntry?.get(name)
    if (entry) {
      entry.completed++
      if (ok) entry.ok++
      entry.latencies.add(latency_ms)
    }
    this.#status[status] = (this.#status[status] ?? 0) + 1
    this.#latencies.add(latency_ms)
    this.#lastAnswer_ms = Math.max(this.#lastAnswer_ms, at_ms)
  }

  /**
   * @param {string} key side and kind, from errors.js
   * @param {number} [waited_ms] counts as a latency if the client gave up: a lower bound on the true one
   * @param {string} [name] of the mix entry
   */
  error(key, waited_ms, name = '') {
    const entry = this.#byEntry?.get(name)
    this.failed++
    if (entry) entry.failed++
    this.#errors[key] = (this.#errors[key] ?? 0) + 1
    if (waited_ms === undefined || (key !== TIMEOUT && key !== UNSENT)) return
    this.#latencies.add(waited_ms)
    entry?.latencies.add(waited_ms)
  }

  /** Progress for the live display. */
  get counts() {
    const p99_ms = this.#latencies.lately(0.99)
    return { sent: this.sent, completed: this.completed, ok: this.ok, failed: this.failed, p99_ms }
  }

  /**
   * Rates are averages over the duration or, if that is longer, over the time until the last answer.
   * @param {number} planned number of requests that should have been answered
   * @param {number} duration_s time over which they were spread
   */
  summary(planned, duration_s) {
    const entries = Array.from(this.#byEntry ?? [], ([name, { latencies, ...counts }]) => {
      return [name, { ...counts, latency_ms: latencies.distribution() }]
    })
    const service_ms = this.#okServices.distribution()
    return trafficOf({
      planned,
      sent: this.sent,
      run_s: Math.max(duration_s, this.#lastAnswer_ms / 1000),
      status: this.#status,
      errors: this.#errors,
      latency_ms: this.#latencies.distribution(),
      ok_latency_ms: this.#okLatencies.distribution(),
      lateness_ms: this.lateness.distribution(),
      queued_ms: this.queued.distribution(),
      per_second: Array.from(this.#seconds, (second) => second ?? { completed: 0, ok: 0 }),
      ...(this.#ticks && { ticks: { ...this.#ticks, ok: Array.from(this.#ticks.ok, (ok) => ok ?? 0) } }),
      ...(service_ms && { ok_service_ms: service_ms }),
      ...(this.#byEntry && { by_entry: Object.fromEntries(entries) }),
    })
  }

  /** @param {number} at_ms */
  #second(at_ms) {
    const index = Math.max(0, Math.floor(at_ms / 1000))
    this.#seconds[index] ??= { completed: 0, ok: 0 }
    return this.#seconds[index]
  }
}

/** @param {number[]} counts @param {number} index */
function countIn(counts, index) {
  counts[index] = (counts[index] ?? 0) + 1
}

/**
 * Derives the traffic of a phase from its counts.
 * @param {Pick<Traffic, 'planned' | 'sent' | 'errors'> & Partial<Traffic> & { run_s: number }} counted
 * @returns {Traffic}
 */
export function trafficOf({ planned, sent, run_s, status = {}, errors, ...measured }) {
  const counts = Object.entries(status)
  const completed = totalOf(counts, ([, count]) => count)
  const ok = totalOf(counts, ([code, count]) => (code[0] === '2' ? count : 0))
  return {
    planned,
    sent,
    completed,
    ok,
    achieved_rps: round(completed / run_s, 2),
    goodput_rps: round(ok / run_s, 2),
    success_ratio: planned === 0 ? 0 : ok / planned,
    status,
    errors: Object.fromEntries(Object.entries(errors).filter(([, count]) => count > 0)),
    ...{ latency_ms: null, ok_latency_ms: null, lateness_ms: null, queued_ms: null, per_second: [] },
    ...measured,
  }
}

/** Number of samples stored individually, so that the percentiles of most trials are exact. */
export const EXACT_SAMPLES = 1 << 20
/** Further samples go into a histogram in microseconds, with this many significant digits and a maximum of one day. */
const FIGURES = 4
const MOST_US = 86_400e6
/** Number of recent samples that the live display needs; beyond this, every other value is dropped. */
const LATEST = 2000

/** Initial capacity if the number of samples is unknown; memory that is never written to costs nothing. */
const USUAL_SAMPLES = 1 << 17

/**
 * Times in ms in bounded memory, so that a trial may last for hours: the first million individually, later ones in a
 * histogram (Node's HdrHistogram). Growing during a load costs more than the copy: V8 has compiled add() without growth, discards
 * that code at the first growth, and recompiles add() on the core that Postgres may share (node --trace-deopt).
 */
export class Samples {
  #values
  /** @type {number[]} */
  #latest = []
  #every = 1
  #count = 0
  #sum = 0
  #least = Number.POSITIVE_INFINITY
  /** @type {RecordableHistogram | null} */
  #beyond = null

  /** @param {number} [expected] number of samples, if known */
  constructor(expected = USUAL_SAMPLES) {
    this.#values = new Float32Array(Math.min(EXACT_SAMPLES, Math.max(1, expected)))
  }

  /** @param {number} value */
  add(value) {
    if (this.#count % this.#every === 0) this.#look(value)
    if (this.#count < EXACT_SAMPLES) this.#keep(value)
    else record(this.#histogram(), value)
    this.#count++
    this.#sum += value
    if (value < this.#least) this.#least = value
  }

  /** @param {number} value */
  #look(value) {
    this.#latest.push(value)
    if (this.#latest.length < LATEST) return
    this.#latest = this.#latest.filter((_, i) => i % 2 === 0)
    this.#every *= 2
  }

  /** @param {number} value */
  #keep(value) {
    if (this.#count === this.#values.length) {
      const grown = new Float32Array(this.#count * 2)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#values[this.#count] = value
  }

  #histogram() {
    this.#beyond ??= createHistogram({ figures: FIGURES, highest: MOST_US })
    return this.#beyond
  }

  /** Approximate percentile of the values since the last call, based on a sample if there are many. @param {number} q */
  lately(q) {
    const some = this.#latest.sort((a, b) => a - b)
    this.#latest = []
    this.#every = 1
    return some.length === 0 ? null : round(some[Math.ceil(q * some.length) - 1], 3)
  }

  /** Percentiles by nearest rank. @returns {Distribution | null} null without samples */
  distribution() {
    if (this.#count === 0) return null
    const rank = this.#ranks()
    const percentiles = Object.entries(PERCENTILES).map(([name, q]) => [name, rank(q)])
    const ends = { min: round(this.#least, 3), mean: round(this.#sum / this.#count, 3), max: rank(1) }
    return /** @type {Distribution} */ ({ ...ends, ...Object.fromEntries(percentiles) })
  }

  /** @returns {(q: number) => number} function from a quantile to its value in ms */
  #ranks() {
    const kept = this.#values.subarray(0, Math.min(EXACT_SAMPLES, this.#count)).sort()
    if (!this.#beyond) return (q) => round(kept[Math.ceil(q * kept.length) - 1], 3)
    const all = createHistogram({ figures: FIGURES, highest: MOST_US })
    all.add(this.#beyond)
    for (const value of kept) record(all, value)
    return (q) => round(Number((all.percentile(q * 100) / 1000).toPrecision(FIGURES)), 3)
  }
}

/** @param {RecordableHistogram} histogram @param {number} value in ms */
function record(histogram, value) {
  histogram.record(Math.min(MOST_US, Math.max(1, Math.round(value * 1000))))
}

/** Sums a function over a list. @template T @param {T[]} list @param {(one: T) => number} of */
export function totalOf(list, of) {
  return list.reduce((sum, one) => sum + of(one), 0)
}

/** @param {number} value @param {number} digits */
function round(value, digits) {
  return Number(value.toFixed(digits))
}
