import { Recorder, Samples } from './recorder.js'

/**
 * @import { Load, Phase } from './index.js'
 * @import { ByEntry, Distribution, MixPlan, Traffic } from '../../report/record.js'
 */

/**
 * Counts what a closed loop in this process does.
 *
 * @param {Pick<Load, 'mix'>} load
 * @param {Phase} phase
 * @param {(recorder: Recorder, answered: (name: string, status: number, latency_ms: number) => void) => Promise<any>} work
 *   sends until the phase ends; answered: an answer to the entry of this name has come
 * @returns {Promise<Traffic>}
 */
export async function countClosedLoop({ mix }, { duration_s, signal, onCounts, onEnd }, work) {
  const recorder = new Recorder()
  const byEntry = countByEntry(mix)
  const start_ms = performance.now()
  const counting = setInterval(() => onCounts(recorder.counts), 1000)
  try {
    await work(recorder, (name, status, latency_ms) => {
      recorder.answer(status, latency_ms, performance.now() - start_ms)
      byEntry.answer(name, status, latency_ms)
    })
  } finally {
    clearInterval(counting)
  }
  signal.throwIfAborted()
  onEnd()
  return { ...recorder.summary(recorder.sent, duration_s), ...byEntry.summary(), lateness_ms: null }
}

/**
 * Counts answers by the entry of the mix that asked; nothing where the mix has no entries.
 *
 * @param {Pick<MixPlan, 'entries'>} mix
 * @returns {{ answer: (name: string, status: number, latency_ms: number) => void, summary: () => { by_entry?: ByEntry } }}
 */
function countByEntry({ entries }) {
  if (!entries) return { answer: () => {}, summary: () => ({}) }
  const counts = new Map(entries.map(({ name }) => [name, { completed: 0, ok: 0, latencies: new Samples() }]))
  return {
    answer(name, status, latency_ms) {
      const entry = counts.get(name)
      if (!entry) return
      entry.completed++
      if (status >= 200 && status < 300) entry.ok++
      entry.latencies.add(latency_ms)
    },

    summary() {
      const rows = [...counts].map(([name, { latencies, ...own }]) => [
        name,
        { ...own, latency_ms: latencies.distribution() },
      ])
      return { by_entry: Object.fromEntries(rows) }
    },
  }
}

/** Latencies as an outside program counted them. @typedef {[latency_us: number, count: number]} Counted */

/** @param {Counted[]} latencies */
export function distributionOf(latencies) {
  const samples = new Samples()
  for (const [us, count] of latencies) for (let i = 0; i < count; i++) samples.add(us / 1000)
  return samples.distribution()
}

/** The sum of what a function finds in each. @template T @param {T[]} list @param {(one: T) => number} of */
export function totalOf(list, of) {
  return list.reduce((sum, one) => sum + of(one), 0)
}
