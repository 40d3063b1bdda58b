import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { speedOf } from '../../../load/capacity/of-records.js'
import { UsageError } from '../../../load/command/errors.js'
import { switchFlag } from '../../../load/command/flags.js'
import { answer, drawn, paragraph, table } from '../../../load/report/blocks.js'
import { decimal, NONE, ratesText } from '../../../load/report/format.js'
import { terminalOf } from '../../../load/report/terminal.js'
import { writeReport } from '../../../load/report/write.js'
import { makeFolder, refuseForeign } from '../../../load/run/folder.js'
import { Results } from '../../../load/run/results.js'
import { costNear } from '../../../load/verbs/sweep/answer.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { median } from '../../../load/verdict/ranks.js'
import { areOtherSpeeds, OF_DATABASE, without } from '../report/conditions.js'
import { changePoints, LEAST_TO_CHANGE } from './change-points.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Dots } from '../../../load/report/picture.js'
 * @import { Action } from '../../../load/run/experiment.js'
 * @import { Run } from '../../../load/report/record.js'
 * @typedef {{ name: string, run: Run, machine: string, middle_rps: number, cpu_us: number | null, work_ms: number | null, subject: Record<string, unknown> }} Past a sweep with an interval;
 *   cpu_us: of a request near its capacity; work_ms: usual time of the fixed piece of work; subject: what it measured
 */

/** `npm run history`: the sweeps in a folder over time. @type {Action} */
export const history = {
  about: 'how has the capacity changed over time? Compares the sweeps in a folder with the newest',
  operands: 'DIR',
  flags: {
    out: { value: 'DIR', about: 'new or empty folder for a page with a picture (default: only the table)' },
    'across-machines': switchFlag('include runs of other machines'),
  },
  examples: `  npm run history -- results
  npm run history -- results --out results/history`,

  async run({ given, operands }, { progress }) {
    const [folder, ...others] = operands
    if (!folder || others.length > 0)
      throw new UsageError(`history: expected one folder with results, got ${operands.length}`)
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
      const what = existsSync(folder) ? 'no folder' : 'not there'
      throw new UsageError(`history: expected a folder with results, got ${folder}, which is ${what}`)
    }
    const { all, unreadable } = pastOf(folder)
    for (const text of unreadable) progress.note(`warning: left out: ${text}`)
    const machines = new Set(all.map(({ machine }) => machine))
    const alike = all.filter(({ subject }) => isAlike(subject, all[all.length - 1].subject))
    const past = given['across-machines'] ? alike : alike.filter(({ machine }) => machine === all.at(-1)?.machine)
    const changes = changePoints(past.map(({ middle_rps }) => Math.log(middle_rps)))
    const problem = past.length > 0 ? null : `expected sweeps with an interval in ${folder}, got none`
    const left = [
      [all.length - alike.length, 'of another service, or with other requests, load, SLO or settings than the newest'],
      [alike.length - past.length, `of other machines (--across-machines; ${machines.size} in all)`],
      [unreadable.length, 'that cannot be read (damaged, or of an older version)'],
    ]
    const notes = left.flatMap(([number, whose]) =>
      Number(number) > 0 ? paragraph(`Left out: ${number} ${whose}.`) : [],
    )
    const blocks = [answer(sentence(past, changes)), tableOf(past, changes), ...notes]
    const out = problem === null ? given.out : undefined
    if (out !== undefined) {
      refuseForeign(out)
      makeFolder(out)
      await writeReport(new Results(out), 'Redline history', [...blocks, drawn(picture(past, changes))])
    }
    const runs = past.map(({ name, run: { started_at, versions }, middle_rps, cpu_us, work_ms }, i) => {
      const commit = versions.redline_commit
      return { name, started_at, commit, middle_rps, cpu_us, work_ms, changed: changes.includes(i) }
    })
    const run = { verb: 'history', problem, interrupted: false, runs, changes }
    return { run, text: problem === null ? terminalOf(blocks) : null, folder: out ?? null }
  },
}

/**
 * The sweeps in a folder that have an interval, in order of time; unreadable: the runs that cannot be read, and why.
 * @param {string} folder @returns {{ all: Past[], unreadable: string[] }}
 */
function pastOf(folder) {
  /** @type {string[]} */
  const unreadable = []
  const names = readdirSync(folder).filter((name) => Results.holdsRun(path.join(folder, name)))
  const found = names.flatMap((name) => {
    try {
      return pastIn(name, new Results(path.join(folder, name))) ?? []
    } catch (error) {
      // One run, whatever is wrong with it, must not hide the others.
      unreadable.push(`${name}: ${/** @type {Error} */ (error).message}`)
      return []
    }
  })
  return { all: found.sort((a, b) => a.run.started_at.localeCompare(b.run.started_at)), unreadable }
}

/** A sweep with an interval; null for any other run, and one that has not measured yet. @param {string} name @param {Results} results @returns {Past | null} */
function pastIn(name, results) {
  if (results.isUnused()) return null
  const run = results.readRun()
  const { low_rps = null, high_rps = null } = run.capacity ?? {}
  if (run.verb !== sweep.name || run.problem || run.answer === 'none' || low_rps === null || high_rps === null)
    return null
  if (!run.machine) throw new UsageError('expected a machine in run.json, got none')
  const records = results.readAllTrials()
  const near = costNear({ capacity: run.capacity, records })
  const subject = subjectOf(run, records[0]?.settings)
  const [cpu_us, work_ms] = [near?.median_us ?? null, speedOf(records)?.usual_ms ?? null]
  const figures = { middle_rps: Math.sqrt(low_rps * high_rps), cpu_us, work_ms }
  return { name, run, machine: machineText(run), ...figures, subject }
}

/** The subject of a sweep. @param {Run} run @param {Record<string, unknown>} [settings] read back @returns {Record<string, unknown>} */
function subjectOf({ plan, database }, settings = {}) {
  const { url, ssh, slo, mix, driver, connections } = plan
  const { rates_rps = null, arrivals = 'even', sustained_s = null, fresh_connections = false, unbounded = false } = plan
  const { name, method, body_base64, entries, headers } = mix
  const set = Object.entries(settings).filter(([setting]) => !/PORT$|^NODE$|^NOFILE$/.test(setting))
  const how = { driver, rates_rps, arrivals, sustained_s, fresh_connections, unbounded }
  const load = { ...how, ...(connections && { connections }) }
  const requests = { name, method, body_base64, entries, ...(headers && { headers }) }
  const durability = without(OF_DATABASE, database ?? {})
  const stored = Object.entries(durability).map(([name, value]) => [`database ${name}`, value])
  return { url, host: ssh?.host, slo, ...requests, ...load, ...Object.fromEntries([...set, ...stored]) }
}

/**
 * Only capacities of the same service, for the same requests, SLO and settings, make a series. A setting that only one has is new.
 * @param {Record<string, unknown>} one @param {Record<string, unknown>} other
 */
function isAlike(one, other) {
  return Object.keys(one).every((name) => !(name in other) || isDeepStrictEqual(one[name], other[name]))
}

/** @param {Run} run */
function machineText({ machine, target_machine: there }) {
  const [here, target] = [machine, there].map((one) => one && `${one.cpu_model}, ${one.cores} cores`)
  return target ? `${here}; the target: ${target}` : String(here)
}

/** @param {Past[]} past @param {number[]} changes */
function sentence(past, changes) {
  const sweeps = `${past.length} ${past.length === 1 ? 'sweep' : 'sweeps'}`
  if (past.length < LEAST_TO_CHANGE)
    return `${sweeps}: too few to tell a change from chance (at least ${LEAST_TO_CHANGE} are needed).`
  if (changes.length === 0) return `${sweeps}: no change is clear.`
  const words = changes.map((at, i) => {
    const [before, since] = [past.slice(changes[i - 1] ?? 0, at), past.slice(at, changes[i + 1] ?? past.length)]
    const levelsOf = (/** @type {'middle_rps' | 'work_ms'} */ name) =>
      [before, since].map((own) => median(own.flatMap((one) => one[name] ?? [])))
    const [was_rps, is_rps] = levelsOf('middle_rps')
    const ratio = decimal(is_rps / was_rps, 2)
    if (ratio === '1.00') return `the level or the spread of the capacity changed slightly at ${past[at].name}`
    const times_ms = levelsOf('work_ms')
    const [was, is] = times_ms.map((ms) => `${ms.toFixed(1)} ms`)
    const speed = `, and so did the speed of the cores: the same piece of work usually took ${was} before, and ${is} since`
    return `the capacity changed at ${past[at].name} to ${ratio} times the level before${areOtherSpeeds(times_ms) ? speed : ''}`
  })
  return `${sweeps}: ${words.join(', and ')}.`
}

/** @param {Past[]} past @param {number[]} changes */
function tableOf(past, changes) {
  const rows = past.map(({ name, run, cpu_us, work_ms }, i) => [
    `${changes.includes(i) ? '> ' : ''}${name}`,
    run.started_at.slice(0, 16).replace('T', ' '),
    run.versions.redline_commit?.slice(0, 7) ?? NONE,
    ratesText(/** @type {NonNullable<Run['capacity']>} */ (run.capacity)),
    cpu_us === null ? NONE : `${decimal(cpu_us, 1)} us`,
    work_ms === null ? NONE : `${work_ms.toFixed(1)} ms`,
    run.limit?.resource ?? NONE,
  ])
  return table(['sweep', 'began', 'Redline', 'capacity', 'CPU per request', 'fixed work', 'limit'], rows, {
    name: 'history',
  })
}

/** @param {Past[]} past @param {number[]} changes */
function picture(past, changes) {
  const values = past.map(({ run, middle_rps }) => {
    return { value: middle_rps, low: Number(run.capacity?.low_rps), high: Number(run.capacity?.high_rps) }
  })
  const labels = past.map(
    ({ run }, i) => `${changes.includes(i) ? 'changed: ' : ''}${run.started_at.slice(0, 16).replace('T', ' ')}`,
  )
  return {
    name: 'history',
    title: 'Capacity of each sweep',
    about: changes.length === 0 ? sentence(past, changes) : 'Where the level or the spread changed, the row says so.',
    form: /** @type {Dots} */ ({
      kind: 'dots',
      x: { title: 'capacity', unit: 'rate' },
      labels,
      series: [{ name: 'capacity', values }],
    }),
  }
}
