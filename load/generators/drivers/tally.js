import { Quiet } from './quiet.js'
import { Recorder } from './recorder.js'

/**
 * @import { Load, Phase } from './index.js'
 * @import { Traffic } from '../../report/record.js'
 */

/** Interval between looks for the end of the load. */
const LOOK_INTERVAL_MS = 20

/**
 * Counts the traffic of a closed loop in this process.
 * @param {Pick<Load, 'mix' | 'slices'>} load @param {Phase} phase
 * @param {(recorder: Recorder, answered: Answered) => Promise<any>} work sends until the phase ends
 * @returns {Promise<Traffic>}
 * @typedef {(name: string, status: number, latency_ms: number) => void} Answered records a response; name: the mix entry's
 */
export async function countClosedLoop({ mix, slices }, { duration_s, signal, onCounts, onEnd }, work) {
  const recorder = new Recorder(mix.entries, slices !== undefined)
  const start_ms = performance.now()
  const counting = setInterval(() => onCounts(recorder.counts), 1000)
  const quiet = new Quiet(onEnd)
  const ending = setInterval(() => {
    const elapsed_ms = performance.now() - start_ms
    if (elapsed_ms >= duration_s * 1000) quiet.look(elapsed_ms, recorder.completed)
  }, LOOK_INTERVAL_MS)
  try {
    await work(recorder, (name, status, latency_ms) => {
      recorder.answer(status, latency_ms, performance.now() - start_ms, name)
    })
  } finally {
    clearInterval(counting)
    clearInterval(ending)
  }
  signal.throwIfAborted()
  quiet.end(recorder.completed)
  return recorder.summary(recorder.sent, duration_s)
}
