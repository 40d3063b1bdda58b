import { parseFlags, shownArguments } from '../command/flags.js'
import { writeReport } from '../report/write.js'
import { describeMachine, redlineCommit } from '../system/machine.js'
import { RUN_FLAGS } from './experiment.js'
import { framed } from './frame.js'
import { beginRun } from './results.js'
import { titleOf } from './runner.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Experiment, Findings } from './experiment.js'
 * @import { Io } from './runner.js'
 * @import { Ended } from './shell.js'
 */

/**
 * A verb that measures in a loop of its own, without trials. Only `measure` is not pure.
 *
 * @typedef {object} OwnLoop
 * @property {string} [script] of npm, where it has another name
 * @property {(given: Record<string, any>) => any} plan from the parsed flags: plain data, kept in run.json
 * @property {(plan: any, io: Io) => AsyncIterable<any>} measure yields what it measured, row after row: plain data, kept in
 *   run.json; when the signal aborts, it cleans up and throws
 * @property {(plan: any, rows: any[]) => Findings} analyse called once
 *
 * @typedef {OwnLoop & Pick<Experiment, 'name' | 'about' | 'details' | 'examples' | 'flags' | 'report'>} Measurement
 */

const { out, json, help } = RUN_FLAGS

/** Flags that every measurement has. @satisfies {Record<string, Flag>} */
export const MEASUREMENT_FLAGS = { out, json, help }

/**
 * Measures and writes run.json and the report. An interrupted run, or one that breaks off, keeps the rows it has.
 *
 * @param {Measurement} measurement
 * @param {Record<string, Flag>} flags all that it has
 * @param {string[]} argv @param {Io} io
 * @returns {Promise<Ended>}
 */
export async function runMeasurement(measurement, flags, argv, io) {
  const { name, plan: planOf, measure, analyse } = measurement
  const { out: folder, json: isJson = false, help: _, ...given } = parseFlags(flags, argv)
  const plan = planOf(given)
  const { results, run } = beginRun(name, { argv: shownArguments(flags, argv), out: folder, plan })
  /** @type {any[]} */
  const rows = []
  let broken = null
  try {
    for await (const row of measure(plan, io)) rows.push(row)
  } catch (error) {
    if (rows.length === 0) {
      results.releaseUnused()
      throw error
    }
    broken = `the run broke off: ${/** @type {Error} */ (error).message}`
  }
  const findings = analyse(plan, rows)
  const interrupted = io.signal.aborted
  const problem = interrupted ? null : (broken ?? findings.problem)
  const versions = { node: process.version, redline_commit: await redlineCommit() }
  const finished_at = new Date().toISOString()
  const state = { ...run, finished_at, interrupted, problem, machine: describeMachine(), versions, rows }
  results.writeRun(state)
  const blocks = framed(measurement, findings, /** @type {any} */ (state), null)
  await (io.lab?.writeReport ?? writeReport)(results, titleOf(state), blocks)
  return { run: state, records: [], blocks, folder: results.folder, json: isJson, isResumable: false }
}
