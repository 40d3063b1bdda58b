import { createLogUpdate } from 'log-update'
import { spoken } from '../command/spoken.js'
import { cellName, count, milliseconds, offered, printable } from '../report/format.js'

/**
 * @import { Counts } from '../generators/drivers/index.js'
 * @import { TrialPlan } from './trial.js'
 * @import { Output } from './shell.js'
 * @import { Cell, TrialRecord } from '../report/record.js'
 */

/** Time between two trials: processes end and start, and rows are counted. */
const BETWEEN_TRIALS_S = 0.5
/** A shorter part of a run says little about its pace. */
const LEAST_PLANNED_S = 60
/** A run that seems to be even slower than this was probably suspended. */
const MAX_PACE = 4
/** Longer lines are hard to follow. */
const MAX_COLUMNS = 100
const BAR_WIDTH = 24

/**
 * Shows the progress of a run: live on a terminal, or a line per trial without a terminal or with NO_COLOR set (no-color.org).
 * @param {Output} stream @param {NodeJS.ProcessEnv} env
 */
export function createProgress(stream, env) {
  const isLive = stream.isTTY && stream.rows !== 0 && !env.NO_COLOR
  const live = isLive ? createLogUpdate(/** @type {any} */ (stream), { showCursor: true }) : null
  /** @type {Shown | null} */
  let shown = null
  let before = ''
  /** @type {{ at_ms: number, left_s: number } | null} */
  let begun = null
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
      live?.clear()
      stream.write(`${printable(spoken(text))}\n`)
      show({})
    },

    /** @param {TrialPlan} plan @param {number} left_s of this trial and all after it @param {Cell | string | null} cell @param {string} [about] */
    trialStarted({ trial, ...load }, left_s, cell, about = '') {
      const trial_s = load.warmup_s + load.duration_s + BETWEEN_TRIALS_S
      const trials = trial - 1 + Math.max(1, Math.round(left_s / trial_s))
      looked_ms = performance.now()
      completed = 0
      begun ??= { at_ms: looked_ms, left_s }
      const done_s = (looked_ms - begun.at_ms) / 1000
      const likely_s = left_s * paceOf(begun.left_s - left_s, done_s)
      shown = { trial, trials, about, before, offered: labelOf(cell, load), done_s, passed_s: 0, left_s: likely_s }
      show({})
    },

    /** Called about once a second. @param {Looks} looks */
    tick(looks) {
      if (!shown) return
      const now_ms = performance.now()
      const seconds = (now_ms - looked_ms) / 1000
      // The count restarts after the warm-up, and the first look comes after one second of load.
      const isFirst = completed === 0 || looks.completed < completed
      const achieved_rps = isFirst ? looks.completed : Math.round((looks.completed - completed) / seconds)
      looked_ms = now_ms
      completed = looks.completed
      show({ passed_s: shown.passed_s + seconds, now: { ...looks, achieved_rps } })
    },

    /** @param {TrialRecord} record */
    trialEnded({ trial, cell, load, traffic, outcome }) {
      const achieved = `achieved ${count(Math.round(traffic.achieved_rps))}/s`
      before = `${labelOf(cell, load)}, ${achieved}, ${outcome.verdict}: ${outcome.because}`
      if (!live) stream.write(`trial ${trial}: ${printable(before)}\n`)
    },

    stop() {
      live?.clear()
      shown = null
    },
  }
}

/** @typedef {ReturnType<typeof createProgress>} Progress */

/**
 * The factor by which a run takes longer than planned. The plan does not know how long the work between trials takes (restarts, filling
 * tables, waiting for a quiet machine). Pure. @param {number} planned_s for the part that is done @param {number} took_s
 */
export function paceOf(planned_s, took_s) {
  if (planned_s < LEAST_PLANNED_S) return 1
  return Math.min(MAX_PACE, Math.max(1, took_s / planned_s))
}

/** @param {Cell | string | null} cell @param {any} load */
function labelOf(cell, load) {
  return `${cell ? `${cellName(cell)}, ` : ''}offered ${offered(load)}`
}

/**
 * The lines on a terminal during a run, none wider than the terminal. Pure.
 * @param {Shown} shown @param {number} columns
 * @typedef {{ trial: number, trials: number, about: string, before: string, offered: string, done_s: number, passed_s: number,
 *   left_s: number, now?: Looks & { achieved_rps: number } }} Shown trials: estimated total; about: what the trial is for;
 *   before: how the previous trial ended; done_s: time since the first trial began; passed_s: time of this one so far; left_s: time
 *   of this one and all after it, estimated when it began
 * @typedef {Counts & { api_core_ratio?: number | null }} Looks at the current load; p99_ms: of about the last second
 */
export function screenOf(shown, columns) {
  const { trial, trials, about, before, done_s, passed_s, left_s } = shown
  const share = (done_s + passed_s) / (done_s + Math.max(passed_s, left_s) || 1)
  const full = Math.round(Math.min(1, share) * BAR_WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full)
  const rest_s = Math.round(Math.max(0, left_s - passed_s))
  const rest = rest_s < 60 ? `${rest_s} s` : `${Math.floor(rest_s / 60)} min ${rest_s % 60} s`
  const head = `${bar} trial ${trial} of about ${trials}, ${rest} left`
  const texts = [head, `  ${loadText(shown)}`, about && `  ${about}`, before && `  before: ${before}`]
  const lines = texts.filter(Boolean).map(printable)
  return lines.map((line) => (line.length <= columns ? line : `${line.slice(0, columns - 1)}…`))
}

/** @param {Shown} shown */
function loadText({ offered, now }) {
  if (!now) return `${offered} | warming up`
  const { achieved_rps, p99_ms, api_core_ratio, failed } = now
  return [
    offered,
    `achieved ${count(achieved_rps)}/s`,
    ...(p99_ms ? [`p99 ${milliseconds(p99_ms)}`] : []),
    ...(typeof api_core_ratio === 'number' ? [`API core ${Math.round(api_core_ratio * 100)} %`] : []),
    `${count(failed)} errors`,
  ].join(' | ')
}
