import path from 'node:path'
import { UsageError } from '../../../load/command/errors.js'
import { switchFlag } from '../../../load/command/flags.js'
import { terminalOf } from '../../../load/report/terminal.js'
import { writeReport } from '../../../load/report/write.js'
import { makeFolder, refuseForeign, refuseUnwritable } from '../../../load/run/folder.js'
import { framed } from '../../../load/run/frame.js'
import { Results } from '../../../load/run/results.js'
import { titleOf } from '../../../load/run/runner.js'
import { classBlocks, readClass } from '../../workshop/class.js'
import { besideBlocks } from './beside.js'
import { machineDifference } from './conditions.js'
import { besideEachOther } from './figures.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Action, Ended, Verb } from '../../../load/run/experiment.js'
 */

/** Maximum number of runs: each has its own mark and line in the pictures. */
const MOST_RUNS = 6

const FLAGS = {
  out: {
    value: 'DIR',
    about: "new or empty folder for what is written (default: the run's own; results/<time>-report for several)",
  },
  class: {
    value: 'DIR',
    about: 'show the guesses and capacities of a class, from a folder with the results or the hand-in of each student',
  },
  'across-machines': switchFlag('allow runs of different machines; the page says so at the top'),
}

/** `npm run report`: reports a run again, or several side by side. @param {Record<string, Verb | Action>} verbs of the runs @returns {Action} */
export function reportOn(verbs) {
  return {
    about: 'rewrite the report of a run, or compare several runs side by side',
    details:
      'Rewrites report.md and report.html of a results folder; shows several side by side, with ratios to the first; or\nprints the results of a workshop class.',
    operands: 'DIR [DIR …]',
    flags: FLAGS,
    examples: `  npm run report -- results/20261120T224011Z-sweep
  npm run report -- results/before results/after --out results/difference
  npm run report -- laptop server --across-machines
  npm run report -- --class results-of-all`,

    async run({ given, operands }) {
      if (given.class !== undefined) return ofClass(given, operands)
      const sources = sourcesOf(operands, verbs)
      if (sources.length === 1) return again(sources[0], given)
      const verb = sources[0].run.verb
      const other = sources.find(({ run }) => run.verb !== verb)
      if (other)
        throw new UsageError(`report: expected runs of one verb, got one of ${verb} and one of ${other.run.verb}`)
      const difference = machineDifference(sources)
      if (difference && !given['across-machines']) {
        return ended({ problem: `${difference}; --across-machines compares them all the same` }, [], null)
      }
      return beside(sources, difference, given)
    },
  }
}

/** @typedef {ReturnType<typeof sourcesOf>[number]} Source a run that was read; name: A, B, …; experiment: the one that reports it */

/** Reads the runs in these folders. @param {string[]} folders @param {Record<string, Verb | Action>} verbs of the runs @throws {UsageError} */
export function sourcesOf(folders, verbs) {
  if (folders.length === 0 || folders.length > MOST_RUNS) {
    throw new UsageError(`report: expected one to ${MOST_RUNS} results folders, got ${folders.length}`)
  }
  return folders.map((folder, i) => {
    const results = new Results(folder)
    const run = { warnings: [], not_applied: [], ...results.readRun() }
    const { verb } = run
    const experiment = experimentOf(verbs, verb)
    if (!experiment) {
      const known = Object.keys(verbs).filter((name) => experimentOf(verbs, name))
      throw new UsageError(`report: expected a run of ${known.join(', ')} in ${folder}, got ${verb}`)
    }
    if ('measure' in experiment && folders.length > 1) {
      throw new UsageError(`report: expected runs with trials, got ${folder}, a ${verb}, which has none`)
    }
    if (!run.machine)
      throw new UsageError(`report: expected a run with trials in ${folder}, but it ended before its first`)
    return { name: String.fromCharCode(65 + i), experiment, folder, run, records: results.readAllTrials() }
  })
}

/** @param {Record<string, Verb | Action>} verbs @param {string} name @returns {Verb | undefined} undefined if it keeps no run */
function experimentOf(verbs, name) {
  const known = Object.hasOwn(verbs, name) ? verbs[name] : undefined
  return known && 'run' in known ? known.experiment : known
}

/** @param {Source} source @param {Record<string, any>} given */
async function again({ experiment, folder, run, records }, { out }) {
  if (out === undefined) refuseUnwritable(folder, 'report', '--out DIR writes elsewhere')
  const results = out === undefined ? new Results(folder) : outside(out, folder)
  const { blocks, problem } = await writeAgain({ experiment, run, records }, results)
  return ended({ problem, runs: [run] }, blocks.slice(0, 1), results.folder)
}

/**
 * Writes the report of a run anew: report.md, its pictures and report.html.
 * @param {Pick<Source, 'experiment' | 'run' | 'records'>} source @param {{ folder: string, writeText: (name: string, text: string) => void }} folder
 */
export async function writeAgain({ experiment, run, records }, folder) {
  const trials = 'measure' in experiment ? null : records
  const findings = experiment.analyse(run.plan, trials ?? run.rows, run)
  // A run without an end was killed, or is still measuring.
  const interrupted = run.interrupted || !run.finished_at
  const problem = run.problem ?? (interrupted ? null : findings.problem)
  const blocks = framed(experiment, findings, { ...run, interrupted, problem }, trials)
  await writeReport(folder, titleOf(run), blocks)
  return { blocks, problem }
}

/** @param {Source[]} sources @param {string | null} difference between the machines @param {Record<string, any>} given */
async function beside(sources, difference, { out }) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const results = outside(out ?? path.join('results', `${time}-report`))
  const compared = besideEachOther(sources)
  const blocks = besideBlocks(sources, compared, difference)
  await writeReport(results, `Redline report: ${sources.length} runs of ${sources[0].run.verb} side by side`, blocks)
  const runs = sources.map(({ name, folder, run }) => ({ name, folder, run_id: run.run_id, machine: run.machine }))
  return ended({ runs, machines_differ: difference, ...compared }, blocks.slice(0, 1), results.folder)
}

/** Reports a class on the terminal, and as a page if a folder is given. @param {Record<string, any>} given @param {string[]} operands */
async function ofClass({ class: folder, out }, operands) {
  if (operands.length > 0) throw new UsageError(`--class: cannot be combined with a folder, got ${operands[0]}`)
  const students = readClass(folder)
  const blocks = classBlocks(students)
  const results = out === undefined ? null : outside(out)
  if (results) await writeReport(results, 'Redline report: a class', blocks)
  return ended({ students }, blocks, results?.folder ?? null)
}

/** Opens a folder to write to: a new one, or the run's own. @param {string} folder @param {string} [own] */
function outside(folder, own) {
  if (own === undefined || path.resolve(own) !== path.resolve(folder)) refuseForeign(folder)
  makeFolder(folder)
  return new Results(folder)
}

/** @param {object} answered @param {Block[]} blocks for the terminal @param {string | null} folder @returns {Ended} */
function ended(answered, blocks, folder) {
  return { run: { verb: 'report', problem: null, interrupted: false, ...answered }, text: terminalOf(blocks), folder }
}
