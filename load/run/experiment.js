/**
 * @import { Flag } from '../command/flags.js'
 * @import { LoadHost } from '../generators/hosts/prepare.js'
 * @import { MixPlan } from '../generators/mix.js'
 * @import { Block } from '../report/blocks.js'
 * @import { SshPlan } from '../system/ssh/plan.js'
 * @import { Target } from '../targets/index.js'
 * @import { Slo } from '../verdict/judge.js'
 * @import { Place } from './bench.js'
 * @import { Results } from './results.js'
 * @import { Io } from './runner.js'
 * @import { TrialRecord } from './trial.js'
 */

/**
 * A verb that measures: data, and functions of which all but `open` and `prepare` are pure. The shell and the runner do the rest:
 * command line, credentials, running, resuming, interruption, the frame of the report, and the exit code.
 *
 * @typedef {object} Experiment
 * @property {string} name as on the command line
 * @property {string} about what it answers, in one line
 * @property {string} [details] further lines of --help
 * @property {string} examples lines of --help
 * @property {Record<string, Flag>} flags its own; the shell adds those that all verbs have
 * @property {(given: Record<string, any>, settings: NodeJS.ProcessEnv) => any} plan from the parsed flags, and from the API's
 *   settings: plain data, kept in run.json
 * @property {(plan: any) => void} [check] throws UsageError where this plan cannot be run here
 * @property {(plan: any) => string} [size] how much work it is, in a line
 * @property {Prepare} [prepare] before the first trial; run.json keeps what it returns, and `analyse` finds it in `run`
 * @property {(plan: any, records: TrialRecord[], notApplied: NotAppliedCell[]) => Step | null} design the next trial, or null when
 *   done; a run that was cut off goes on by calling it again
 * @property {(cell: Cell | null, place: Place, plan: any) => Promise<Target>} [open] the target of a cell, which stays open while
 *   the steps ask for the same cell; by default the local API, or the plan's URL
 * @property {(place: Place) => Promise<void>} [close] ends what `open` keeps for further cells
 * @property {(plan: any) => string} [pinning] which core does what, where it is not the local API that has one
 * @property {(plan: any, records: TrialRecord[], run: any) => Findings} analyse called once, when no trial is left: plain data
 * @property {(findings: any) => Block[]} report the answer first, then what supports it
 * @property {(findings: any, run: Run) => Record<string, string>} [files] further files of the results folder, by name
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
 * @typedef {Record<string, any>} At a trial's place in its design: phase, block, rung, side, …
 * @typedef {Record<string, string | number>} Cell settings by name
 * @typedef {{ cell: any, because: string }} NotAppliedCell
 */

/**
 * @typedef {object} Plan what a run is about; plain data, kept in run.json so that --resume can tell whether it is the same
 * @property {string | null} url null: the API, which we start
 * @property {string} [shown_url] the same without its secrets; a kept plan has only this one, as its url
 * @property {SshPlan | null} [ssh] the host on which it is started; by default this one
 * @property {string | null} metrics_url of a service behind a URL
 * @property {string} driver
 * @property {number[] | null} rates_rps null: the capacity is searched for
 * @property {number[]} connections
 * @property {boolean} fresh_connections a connection for each request
 * @property {boolean} unbounded vegeta with its own defaults
 * @property {boolean} searches for the capacity, instead of the loads that were asked for
 * @property {number} [precision_ratio] half the width of the interval wanted, as a share of its middle
 * @property {boolean} confirms the limit that was found is relaxed, to see whether the capacity moves
 * @property {MixPlan} mix
 * @property {Slo} slo
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {number} timeout_s
 * @property {string[]} [load_hosts] where the load comes from, instead of this machine
 * @property {string | null} [ssh_config] on the way to them
 * @property {string[]} [local_addresses] of this machine that connections come from, in turn
 *
 * @typedef {object} Step the next trial
 * @property {At} at
 * @property {any} cell null where there is one target only
 * @property {number} left_s expected time of this trial and those that will follow
 * @property {string} [about] what it is for, for somebody who watches
 * @property {StepLoad} load
 *
 * @typedef {object} StepLoad
 * @property {string} driver
 * @property {'open' | 'closed'} loop
 * @property {number | null} rate_rps
 * @property {number} connections
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {boolean} [fresh_connections]
 * @property {boolean} [unbounded]
 * @property {number} [per_worker_rps]
 * @property {number | null} [nofile]
 * @property {MixPlan} [mix] the plan's, unless told otherwise
 */

/**
 * run.json.
 *
 * @typedef {object} Run
 * @property {string} run_id
 * @property {string} verb
 * @property {string[]} argv
 * @property {string} started_at
 * @property {string | null} finished_at
 * @property {any} plan
 * @property {boolean} interrupted
 * @property {any} machine
 * @property {any} [target_machine]
 * @property {LoadHost[]} [load_hosts]
 * @property {any} versions
 * @property {any} database
 * @property {Slo} slo
 * @property {string} pinning
 * @property {string[]} warnings
 * @property {NotAppliedCell[]} not_applied
 * @property {string | null} problem
 * @property {any} [capacity]
 * @property {any} [limit]
 */
