import { isDeepStrictEqual } from 'node:util'

/** @import { Source } from './report.js' */

/** What of a plan is the run's own: seeds, and where the load came from. */
const OWN = /^(mix|rates_rps)$/

/**
 * Whether the runs were made on different machines.
 *
 * @param {Source[]} sources
 * @returns {string | null} what differs; null: one machine, as far as its description goes
 */
export function machineDifference(sources) {
  const [first, ...others] = sources
  for (const other of others) {
    const [one, two] = [machinesOf(first), machinesOf(other)]
    const fields = Object.keys({ ...one, ...two }).filter((name) => one[name] !== two[name])
    if (fields.length > 0) {
      const texts = fields.map((name) => `${name} ${one[name] ?? 'none'} against ${two[name] ?? 'none'}`)
      return `${first.name} and ${other.name} are of different machines: ${texts.join(', ')}`
    }
  }
  return null
}

/** Ours, and that of the service where it is another. @param {Source} source @returns {Record<string, string | number>} */
function machinesOf({ run }) {
  const target = run.target_machine ? prefixed('target ', described(run.target_machine)) : {}
  return { ...described(run.machine ?? {}), ...target }
}

/** @param {Record<string, any>} machine */
function described({ cpu_model = 'unknown', cores = 0, memory_bytes = 0, kernel = 'unknown' }) {
  // Some MiB more or less are the kernel's, not another machine's.
  return { cpu_model, cores, memory_gib: Math.round(memory_bytes / 2 ** 30), kernel }
}

/**
 * What else was not the same: what was asked for, what was read back, and versions. The more of it, the less the ratios
 * are about one thing.
 *
 * @param {Source[]} sources
 * @returns {{ name: string, values: string[] }[]}
 */
export function otherDifferences(sources) {
  const runs = sources.map(({ run, records }) => ({
    ...prefixed('', run.versions ?? {}),
    ...prefixed('SLO ', run.slo ?? {}),
    ...prefixed(
      'plan ',
      Object.fromEntries(Object.entries(run.plan).filter(([name]) => !OWN.test(name) && name !== 'slo')),
    ),
    ...prefixed('', settingsOf(records)),
    pinning: run.pinning ?? 'unknown',
  }))
  const names = [...new Set(runs.flatMap(Object.keys))]
  return names.flatMap((name) => {
    const values = runs.map((one) => /** @type {Record<string, unknown>} */ (one)[name])
    if (values.every((value) => isDeepStrictEqual(value, values[0]))) return []
    return [{ name, values: values.map((value) => (value === undefined ? 'none' : textOf(value))) }]
  })
}

/** As they were read back, without what is drawn anew each time. @param {Source['records']} records */
function settingsOf(records) {
  const names = [...new Set(records.flatMap(({ settings }) => Object.keys(settings ?? {})))]
  const entries = names
    .filter((name) => !/PORT$/.test(name))
    .map((name) => [name, [...new Set(records.map(({ settings }) => settings?.[name]))].join(', ')])
  return Object.fromEntries(entries)
}

/** @param {string} prefix @param {object} values */
function prefixed(prefix, values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]))
}

/** @param {unknown} value */
function textOf(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (text.length > 80 ? `${text.slice(0, 79)}…` : text).replace(/[|\r\n]/g, ' ')
}
