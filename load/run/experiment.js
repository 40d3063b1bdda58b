/**
 * @import { Flag } from '../command/flags.js'
 * @import { LoadHost } from '../generators/hosts/prepare.js'
 * @import { Block } from '../report/blocks.js'
 * @import { SshPlan } from '../system/ssh/plan.js'
 * @import { Target } from '../targets/index.js'
 * @import { Place } from './site.js'
 * @import { Results } from './results.js'
 * @import { Io } from './runner.js'
 * @import { At, Cell, MixPlan, NotAppliedCell, Run, Slo, Step, TrialRecord } from '../report/record.js'
 */

/**
 * A verb that measures: data, and functions of which all but `open` and `prepare` are pure. The shell and the runner do the rest:
 * command line, credentials, running, resuming, interruption, the frame of the report, and the exit code.
 *
 * @template [P=any] the plan
 * @template {Findings} [F=any] what `analyse` finds
 * @typedef {object} Experiment
 * @property {string} name as on the command line
 * @property {string} about what it answers, in one line
 * @property {string} [details] further lines of --help
 * @property {string} examples lines of --help
 * @property {Record<string, Flag>} flags its own; the shell adds those that all verbs have
 * @property {(given: Record<string, any>, settings: NodeJS.ProcessEnv) => P} plan from the parsed flags, and from the API's
 *   settings: plain data, kept in run.json
 * @property {(plan: P) => void} [check] throws UsageError where this plan cannot be run here
 * @property {(plan: P) => string} [size] how much work it is, in a line
 * @property {Prepare} [prepare] before the first trial; run.json keeps what it returns, and `analyse` finds it in `run`
 * @property {(plan: P, records: TrialRecord[], notApplied: NotAppliedCell[]) => Step | null} design the next trial, or null when
 *   done; a run that was cut off goes on by calling it again
 * @property {(cell: Cell | null, place: Place, plan: P) => Promise<Target>} [open] the target of a cell, which stays open while
 *   the steps ask for the same cell; by default the local API, or the plan's URL
 * @property {(place: Place) => Promise<void>} [close] ends what `open` keeps for further cells
 * @property {(plan: P) => string} [pinning] which core does what, where it is not the local API that has one
 * @property {(plan: P, records: TrialRecord[], run: any) => F} analyse called once, when no trial is left: plain data
 * @property {(findings: F) => Block[]} report the answer first, then what supports it
 * @property {(findings: F, run: Run) => Record<string, string>} [files] further files of the results folder, by name
 * @property {Older} [older] how records of older versions are read
 *
 * @typedef {{ problem: string | null, kept?: Record<string, any> } & Record<string, any>} Findings problem: why there is no
 *   trustworthy answer; kept: what run.json says of them, such as `capacity` and `limit`
 *
 * @typedef {object} Older how runs without `at` are read: a trial's place in the design was one string, and so was its cell
 * @property {string} verb
 * @property {(experiment: string, record: any) => At} at
 * @property {(cell: string) => Cell | null} [cell] by default, settings as `cellOf` reads them
 * @property {(plan: any) => any} [plan]
 *
 * @typedef {(plan: any, begun: { results: Results, run: any, runId: string }, io: Io) => Promise<object | void>} Prepare
 */

/**
 * run.json.
 */
