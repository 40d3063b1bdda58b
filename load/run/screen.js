import { count, milliseconds } from '../report/format.js'

/** @import { Looks } from './progress.js' */

const BAR_WIDTH = 24

/**
 * What stands on a terminal while a run is on.
 *
 * @typedef {object} Shown
 * @property {number} trial
 * @property {number} trials about so many in all
 * @property {string} about what the trial is for
 * @property {string} before how the trial before it ended
 * @property {string} offered
 * @property {number} done_s by the trials before it
 * @property {number} passed_s of this one
 * @property {number} left_s of this one and all after it, as it began
 * @property {Looks & { achieved_rps: number }} [now]
 */

/**
 * Its lines, none longer than the terminal is wide. Pure.
 *
 * @param {Shown} shown
 * @param {number} columns
 * @returns {string[]}
 */
export function screenOf(shown, columns) {
  const { trial, trials, about, before, done_s, passed_s, left_s } = shown
  const rest_s = Math.max(0, left_s - passed_s)
  const share = (done_s + passed_s) / (done_s + Math.max(passed_s, left_s) || 1)
  const head = `${bar(share)} trial ${trial} of about ${trials}, ${timeText(rest_s)} left`
  const lines = [head, `  ${loadText(shown)}`, about && `  ${about}`, before && `  before: ${before}`]
  return lines.filter(Boolean).map((line) => cut(line, columns))
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

/** @param {number} share */
function bar(share) {
  const full = Math.round(Math.min(1, share) * BAR_WIDTH)
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full)
}

/** @param {number} s */
function timeText(s) {
  const whole = Math.round(s)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** @param {string} line @param {number} columns */
function cut(line, columns) {
  return line.length <= columns ? line : `${line.slice(0, columns - 1)}…`
}
