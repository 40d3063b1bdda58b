import { isDeepStrictEqual } from 'node:util'
import { speedOf } from '../../../load/capacity/of-records.js'

/** @import { Source } from './report.js' */

/** Parts of a plan that differ by chance or are listed elsewhere: the requests, rates of a search, the SLO. */
const OWN = ['mix', 'rates_rps', 'slo']
/** Facts about a database that differ by chance or are listed elsewhere. */
export const OF_DATABASE = ['version', 'schema', 'round_trip_ms']

const LIST = new Intl.ListFormat('en-GB')

/** Longest value that is shown whole, in characters. */
const LONGEST = 80

/** Differences between the machines of the runs, as far as their descriptions go; null if there are none. @param {Source[]} sources */
export function machineDifference(sources) {
  const machines = sources.map(({ run }) => {
    const sides = Object.entries(run.target_machines ?? {}).map(([side, machine]) => {
      return prefixed(`target ${side} `, described(machine))
    })
    return Object.assign(described(run.machine), prefixed('target ', described(run.target_machine)), ...sides)
  })
  const texts = differing(machines).map(([name, ...values]) => `${name} ${values.join(' against ')}`)
  const names = LIST.format(sources.map(({ name }) => name))
  return texts.length > 0 ? `${names} are of different machines: ${texts.join(', ')}` : null
}

/** Other differences: the plan, settings read back, and versions. The more there are, the less a ratio shows one cause. @param {Source[]} sources */
export function otherDifferences(sources) {
  const descriptions = sources.map(({ run, records }) => ({
    ...run.versions,
    ...prefixed('SLO ', run.slo),
    ...prefixed('plan ', without(OWN, run.plan)),
    ...prefixed('requests ', without(['seed'], run.plan.mix)),
    ...prefixed('database ', without(OF_DATABASE, run.database ?? {})),
    ...settingsOf(records),
    pinning: run.pinning ?? 'unknown',
  }))
  return differing(descriptions)
}

/** Speeds that differ by less than this factor are alike. */
const SPEED_TIMES = 1.1

/** Whether cores were not equally fast, by the times of the same work; false if one is not known. @param {number[]} times_ms */
export function areOtherSpeeds(times_ms) {
  return Math.max(...times_ms) > SPEED_TIMES * Math.min(...times_ms)
}

/** Says that the cores of the runs were not equally fast; null if they were, or if one was not timed. @param {Source[]} sources */
export function besideSpeeds(sources) {
  const usual_ms = sources.map(({ records }) => speedOf(records)?.usual_ms ?? Number.NaN)
  if (!areOtherSpeeds(usual_ms)) return null
  const times = sources.map(({ name }, i) => `${usual_ms[i].toFixed(1)} ms in ${name}`)
  return `The cores were not equally fast: before the trials, the same piece of work usually took ${LIST.format(times)}.`
}

/** Fields with different values: the name, then the value of each. @param {Record<string, unknown>[]} descriptions */
function differing(descriptions) {
  const names = [...new Set(descriptions.flatMap(Object.keys))]
  return names.flatMap((name) => {
    const values = descriptions.map((one) => one[name])
    const isSame = values.every((value) => isDeepStrictEqual(value, values[0]))
    return isSame ? [] : [[name, ...values.map((value) => (value === undefined ? 'none' : textOf(value)))]]
  })
}

/** @param {Record<string, any>} [machine] */
function described(machine) {
  if (!machine) return {}
  const { cpu_model, cores, memory_bytes, kernel } = machine
  // Kernels report sizes of the same memory that differ by some MiB.
  return { cpu_model, cores, memory_gib: Math.round(memory_bytes / 2 ** 30), kernel }
}

/**
 * Settings as read back, without ports, which are drawn anew each time, and those that a cell or a relaxed limit changed.
 * @param {Source['records']} records
 */
function settingsOf(records) {
  const unrelaxed = records.filter(({ at }) => !at.relaxed)
  const usual = unrelaxed.map(({ cell, settings }) => without(Object.keys(cell ?? {}), settings))
  const own = [...new Set(usual.flatMap(Object.keys))].filter((name) => !name.endsWith('PORT'))
  const levelsOf = (/** @type {string} */ name) => new Set(usual.flatMap((settings) => settings[name] ?? []))
  return Object.fromEntries(own.map((name) => [name, [...levelsOf(name)].join(', ')]))
}

/** An object without some of its fields. @param {string[]} names @param {object} [values] */
export function without(names, values = {}) {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))
}

/** @param {string} prefix @param {object} [values] */
function prefixed(prefix, values = {}) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]))
}

/** @param {unknown} value */
function textOf(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text
}
