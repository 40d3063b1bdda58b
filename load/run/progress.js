import { createLogUpdate } from 'log-update'
import { cellName, count, offered } from '../report/format.js'
import { screenOf } from './screen.js'

/**
 * @import { Shown } from './screen.js'
 * @import { TrialPlan } from './trial.js'
 * @import { Output } from './shell.js'
 * @import { Cell, TrialRecord } from '../report/record.js'
 */

/** What passes between two trials: processes begin and end, and rows are counted. */
const BETWEEN_TRIALS_S = 0.5

/** Beyond it, a line is hard to find again with the eye. */
const MAX_COLUMNS = 100

/**
 * Shows how far a run is: a view that lives on a terminal, a line per trial elsewhere or where NO_COLOR is set
 * (no-color.org).
 *
 * @param {Output} stream
 * @param {NodeJS.ProcessEnv} env
 */
export function createProgress(stream, env) {
  const live =
    stream.isTTY && stream.rows !== 0 && !env.NO_COLOR
      ? createLogUpdate(/** @type {any} */ (stream), { showCursor: true })
      : null
  /** @type {Shown | null} */
  let shown = null
  let before = ''
  let done_s = 0
  let looked_ms = 0
  let completed = 0

  /** @param {Partial<Shown>} change */
  function show(change) {
    if (!live || !shown) return
    shown = { ...shown, ...change }
    live(screenOf(shown, Math.min(stream.columns || MAX_COLUMNS, MAX_COLUMNS)).join('\n'))
  }

  return {
    /** @param {string} text something that takes a while */
    note(text) {
      if (live) live.clear()
      stream.write(`${text}\n`)
      show({})
    },

    /**
     * @param {TrialPlan} plan
     * @param {number} expected_s time of this trial and all after it
     * @param {Cell | string | null} cell
     * @param {string} [about] what the trial is for
     */
    trialStarted({ trial, ...load }, expected_s, cell, about = '') {
      const trial_s = load.warmup_s + load.duration_s + BETWEEN_TRIALS_S
      const trials = trial - 1 + Math.max(1, Math.round(expected_s / trial_s))
      looked_ms = performance.now()
      completed = 0
      shown = { trial, trials, about, before, offered: labelOf(cell, load), done_s, passed_s: 0, left_s: expected_s }
      show({})
    },

    /** About once a second. @param {Looks} looks */
    tick(looks) {
      if (!shown) return
      const now_ms = performance.now()
      const seconds = (now_ms - looked_ms) / 1000
      // The count begins anew behind the warm-up, and the first look comes after a second of load.
      const isFirst = completed === 0 || looks.completed < completed
      const achieved_rps = isFirst ? looks.completed : Math.round((looks.completed - completed) / seconds)
      looked_ms = now_ms
      completed = looks.completed
      show({ passed_s: shown.passed_s + seconds, now: { ...looks, achieved_rps } })
    },

    /** @param {TrialRecord} record */
    trialEnded({ trial, cell, load, traffic, outcome }) {
      done_s += load.warmup_s + load.duration_s + BETWEEN_TRIALS_S
      const achieved = `achieved ${count(Math.round(traffic.achieved_rps))}/s`
      const line = `${labelOf(cell, load)}, ${achieved}, ${outcome.verdict}: ${outcome.because}`
      before = line
      if (!live) stream.write(`trial ${trial}: ${line}\n`)
    },

    stop() {
      live?.clear()
      shown = null
    },
  }
}

/**
 * @typedef {object} Looks at a load that is on
 * @property {number} sent
 * @property {number} completed
 * @property {number} ok
 * @property {number} failed
 * @property {number | null} [p99_ms] of the last second, about
 * @property {number | null} [api_core_ratio]
 */

/** @param {Cell | string | null} cell @param {any} load */
function labelOf(cell, load) {
  return `${cell ? `${cellName(cell)}, ` : ''}offered ${offered(load)}`
}

/** @typedef {ReturnType<typeof createProgress>} Progress */
