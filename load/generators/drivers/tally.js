import { Recorder } from './recorder.js'

/**
 * @import { Load, Phase } from './index.js'
 * @import { Traffic } from '../../report/record.js'
 */

/**
 * Counts what a closed loop in this process does.
 *
 * @param {Pick<Load, 'mix'>} load
 * @param {Phase} phase
 * @param {(recorder: Recorder, answered: Answered) => Promise<any>} work sends until the phase ends
 * @returns {Promise<Traffic>}
 *
 * @typedef {(name: string, status: number, latency_ms: number) => void} Answered an answer to the entry of this name has come
 */
export async function countClosedLoop({ mix }, { duration_s, signal, onCounts, onEnd }, work) {
  const recorder = new Recorder(mix.entries)
  const start_ms = performance.now()
  const counting = setInterval(() => onCounts(recorder.counts), 1000)
  try {
    await work(recorder, (name, status, latency_ms) => {
      recorder.answer(status, latency_ms, performance.now() - start_ms, name)
    })
  } finally {
    clearInterval(counting)
  }
  signal.throwIfAborted()
  onEnd()
  return recorder.summary(recorder.sent, duration_s)
}
