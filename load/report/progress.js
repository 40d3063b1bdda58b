import cliProgress from 'cli-progress'
import { count, offered } from './table.js'

/**
 * Shows how far a run is: a bar on a terminal, a line per trial elsewhere.
 *
 * @param {NodeJS.WriteStream} stream
 */
export function createProgress(stream) {
  const bar = stream.isTTY
    ? new cliProgress.SingleBar({ stream, format: FORMAT, hideCursor: true, clearOnComplete: true })
    : null
  let done_s = 0
  let trial_s = 0

  return {
    /** @param {string} text something that takes a while, before any trial */
    note: (text) => void stream.write(bar ? `${text}\r` : `${text}\n`),

    /** @param {import('../trial.js').TrialPlan} plan @param {number} left_s expected time of this trial and all after it */
    trialStarted(plan, left_s) {
      trial_s = 0
      const label = `trial ${plan.trial}, ${offered(plan)}`
      if (bar?.isActive) bar.setTotal(done_s + left_s)
      else bar?.start(done_s + left_s, done_s, { label, counts: '' })
      bar?.update(done_s, { label, counts: 'warming up' })
    },

    /** About once a second. @param {{ sent: number, ok: number, failed: number }} counts */
    tick({ sent, ok, failed }) {
      trial_s++
      bar?.update(done_s + trial_s, { counts: `${count(sent)} sent, ${count(ok)} ok, ${count(failed)} failed` })
    },

    /** @param {import('../trial.js').TrialRecord} record */
    trialEnded({ trial, load, traffic, outcome }) {
      done_s += load.warmup_s + load.duration_s
      bar?.update(done_s)
      if (bar) return
      const achieved = `achieved ${count(Math.round(traffic.achieved_rps))}/s`
      stream.write(`trial ${trial}: offered ${offered(load)}, ${achieved}, ${outcome.verdict}: ${outcome.because}\n`)
    },

    stop: () => bar?.stop(),
  }
}

const FORMAT = '{bar} {percentage} % | {label} | {counts} | {eta_formatted} left'

/** @typedef {ReturnType<typeof createProgress>} Progress */
