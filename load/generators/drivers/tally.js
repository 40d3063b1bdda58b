import { Recorder, Samples } from './recorder.js'

/**
 * @import { Load, Phase } from './index.js'
 * @import { Traffic } from '../../report/record.js'
 */

/**
 * Counts what a closed loop in this process does.
 *
 * @param {Pick<Load, 'mix'>} load @param {Phase} phase
 * @param {(recorder: Recorder, answered: Answered) => Promise<any>} work sends until the phase ends
 * @returns {Promise<Traffic>}
 *
 * @typedef {(name: string, status: number, latency_ms: number) => void} Answered an answer to the entry of this name has come
 */
export async function countClosedLoop({ mix: { entries } }, { duration_s, signal, onCounts, onEnd }, work) {
  const recorder = new Recorder()
  const byEntry = new Map(entries?.map(({ name }) => [name, { completed: 0, ok: 0, latencies: new Samples() }]))
  const start_ms = performance.now()
  const counting = setInterval(() => onCounts(recorder.counts), 1000)
  try {
    await work(recorder, (name, status, latency_ms) => {
      recorder.answer(status, latency_ms, performance.now() - start_ms)
      const entry = byEntry.get(name)
      if (!entry) return
      entry.completed++
      if (status >= 200 && status < 300) entry.ok++
      entry.latencies.add(latency_ms)
    })
  } finally {
    clearInterval(counting)
  }
  signal.throwIfAborted()
  onEnd()
  const rows = [...byEntry].map(([name, { latencies, ...own }]) => {
    return [name, { ...own, latency_ms: latencies.distribution() }]
  })
  const by_entry = entries && { by_entry: Object.fromEntries(rows) }
  return { ...recorder.summary(recorder.sent, duration_s), ...by_entry, lateness_ms: null }
}
