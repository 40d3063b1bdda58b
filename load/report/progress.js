import cliProgress from 'cli-progress'
import { count, offered } from './table.js'

/**
 * Shows how far a run is: a bar on a terminal, a line per trial elsewhere.
 *
 * @param {NodeJS.WriteStream} stream
 */
export function createProgress(stream) {
  const bar = stream.isTTY ? new cliProgress.SingleBar(BAR, cliProgress.Presets.shades_classic) : null
  let done_s = 0
  let left_s = 0

  /** @param {number} passed_s of the trial that is on @param {object} texts */
  function show(passed_s, texts) {
    const total_s = done_s + left_s
    bar?.setTotal(total_s)
    bar?.update(Math.min(done_s + passed_s, total_s), { left_s: Math.max(0, Math.round(left_s - passed_s)), ...texts })
  }

  let trial_s = 0
  return {
    /** @param {string} text something that takes a while, before any trial */
    note: (text) => void stream.write(bar ? `${text}\r` : `${text}\n`),

    /**
     * @param {import('../trial.js').TrialPlan} plan
     * @param {number} expected_s time of this trial and all after it
     * @param {string | null} cell
     */
    trialStarted(plan, expected_s, cell) {
      trial_s = 0
      left_s = expected_s
      if (!bar?.isActive) bar?.start(done_s + left_s, done_s, { left_s, label: '', counts: '' })
      show(0, { label: `trial ${plan.trial}, ${labelOf(cell, plan)}`, counts: 'warming up' })
    },

    /** About once a second. @param {{ sent: number, ok: number, failed: number }} counts */
    tick({ sent, ok, failed }) {
      trial_s++
      show(trial_s, { counts: `${count(sent)} sent, ${count(ok)} ok, ${count(failed)} failed` })
    },

    /** @param {import('../trial.js').TrialRecord} record */
    trialEnded({ trial, cell, load, traffic, outcome }) {
      done_s += load.warmup_s + load.duration_s
      if (bar) return
      const achieved = `achieved ${count(Math.round(traffic.achieved_rps))}/s`
      stream.write(`trial ${trial}: ${labelOf(cell, load)}, ${achieved}, ${outcome.verdict}: ${outcome.because}\n`)
    },

    stop: () => bar?.stop(),
  }
}

/** @param {string | null} cell @param {any} load */
function labelOf(cell, load) {
  return `${cell ? `${cell}, ` : ''}offered ${offered(load)}`
}

const BAR = {
  format: '{bar} {percentage} % | {label} | {counts} | {left_s} s left',
  barsize: 24,
  hideCursor: true,
  clearOnComplete: true,
}

/** @typedef {ReturnType<typeof createProgress>} Progress */
