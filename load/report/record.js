/**
 * @import { Durability } from '../../sql/durability.js'
 * @import { SshPlan } from '../system/ssh/plan.js'
 */

/** @template {string} Name @typedef {Partial<Record<Name, number>>} Figures */

/**
 * The record: contents of run.json and trials.ndjson, as read by reports, `--resume` and other people's programs.
 * @typedef {{ run_id: string, trial: number, started_at: string, experiment: string, at: At, cell: any,
 *   settings: Record<string, string | number | null>, load: TrialLoad, traffic: TrialTraffic, probes: Probes, beside?: Beside, doses?: Dose[], work_ms?: number,
 *   target: { kind: string, url: string, pid: number | null, cores: string | null }, outcome: Outcome, limit: Limit }} TrialRecord
 *   one line of trials.ndjson; trial: number within the run, from 1; experiment: the verb; at: the trial's place in the design;
 *   cell: settings by name, or null if there is only one target; settings: as read back from the running process; beside: other
 *   load on the target meanwhile; doses: those of a proof, in the order in which they were taken; work_ms: time that a fixed piece
 *   of work took on the service's cores before the trial
 * @typedef {{ api: ApiProbe, postgres: PostgresProbe, kernel: KernelProbe, here?: KernelProbe, target?: any,
 *   generator: ProcessProbe & { lateness_ms?: Distribution | null, open_files_max?: number, cores?: string } }} Probes observations
 *   of each part during the load; a field is missing if it could not be observed; kernel: that of the machine on which the target
 *   runs; here: that of this machine, if it is another; target: observations that only this kind of target can supply
 * @typedef {Figures<'cpu_s' | 'cpu_core_ratio' | 'main_core_ratio' | 'run_delay_ratio' | 'cpu_us_per_request' | 'rss_bytes' | 'open_files' |
 *   'quota_cores' | 'throttled_ratio' | 'context_switches'>} ProcessProbe context_switches: times that the main thread got a core
 * @typedef {ProcessProbe & Figures<'open_files_max' | 'gc_ratio' | 'elu_ratio' | 'loop_delay_p99_ms' | 'loop_delay_max_ms' | 'in_flight_mean' |
 *   'waiting_mean' | 'pool_used_mean' | 'pool_waiting_mean' | 'hashing_mean' | 'hashing_threads' | 'statements' | 'statement_mean_ms' | 'connections_max' |
 *   'dropped_connections' | 'usable_cores' | 'pool_max'> & { name?: string, problems?: Record<string, number>, shed?: Record<string, number>, metrics_problem?: string }} ApiProbe name: of the
 *   observed process and its descendants, if the service is not ours: the busiest process that we know; main_core_ratio is then
 *   that of its busiest thread; usable_cores: number of cores on which it may run
 * @typedef {Figures<'samples' | 'active_mean' | 'cpu_core_ratio' | 'commits' | 'wal_flushes' | 'wal_bytes' | 'connections' | 'connections_max' |
 *   'round_trip_ms'> &
 *   { waits?: Record<string, number>, cores?: string, quota_cores?: number, throttled_ratio?: number, checkpoint_s?: number, checkpoint_problem?: string,
 *   vacuum_s?: number, vacuum_problem?: string,
 *   commit_problem?: string | null, postgres_problem?: string }} PostgresProbe commit_problem: why commits cannot be slowed, or null if they
 *   can; round_trip_ms: the shortest from this machine, at the start of the run; postgres_problem: why it could not be looked at
 * @typedef {Figures<'listen_overflows' | 'listen_drops' | 'accept_queue_max' | 'somaxconn' | 'retransmits' | 'segments_sent' | 'tracking_drops' | 'time_wait' |
 *   'pressure_cpu_ratio' | 'pressure_io_ratio' | 'pressure_memory_ratio' | 'memory_available_bytes' | 'postgres_core_ratio'> & { cores?: Record<string, CoreShare>, disk?: DiskUse }} KernelProbe pressure: share
 *   of the time in which some task waited for this resource; somaxconn: the kernel's bound of an accept queue, which older records lack; postgres_core_ratio:
 *   cores that the database used on the service's host, if that is not this machine, and it may run on the service's cores
 * @typedef {{ read_bytes: number, written_bytes: number, busy_ratio: number, flushes?: number, flush_ratio?: number }} DiskUse busy, flush:
 *   share of the time for which the busiest disk did this; older records lack flushes
 * @typedef {{ busy_ratio: number, interrupts_ratio: number, steal_ratio: number }} CoreShare shares of a core's time
 * @typedef {Record<string, any>} At phase, block, position, side, rung, …, as a verb needs
 * @typedef {Record<string, string | number>} Cell settings by name
 * @typedef {{ offered_rps: number, goodput_rps: number, planned: number, ok: number, mean_ms: number | null,
 *   success_ratios?: Record<string, number> }} Beside success_ratios: of each service, if several were loaded
 * @typedef {{ suspect: string, resource: string, cores?: string, of?: 'service' | 'postgres' | 'generator', pid?: number, flush_us?: number }} Suspect
 *   resource: the limit that the suspect would be; a suspect is slowed by burning time of its cores, by stopping the processes of this
 *   part or pid, or, if Postgres flushes its log every flush_us, by delaying each flush
 * @typedef {Suspect & { isDosed: boolean, share: number }} Slice of a load: either a suspect is slowed for a share of the time, or the
 *   slice is its undosed neighbour
 * @typedef {Slice & { taken_ratio: number, from_ms: number, to_ms: number }} Dose taken_ratio: share really taken; from, to: since 1970
 * @typedef {{ suspect: string, resource: string, elasticity: number, low: number | null, high: number | null, pairs: number, factor?: number, undosed?: true }} Elasticity of the
 *   throughput with respect to the suspect's speed, with its 95 % interval, or null if there are too few pairs; factor: by which the
 *   suspect was enlarged instead; undosed: nothing was slowed, to test the method
 * @typedef {'p50' | 'p90' | 'p95' | 'p99' | 'p999' | 'mean' | 'max'} Latency
 * @typedef {{ p99_ms?: number, success_ratio?: number, also_ms?: Partial<Record<Latency, number>> }} Bounds that an SLO states; also:
 *   bounds on other latencies
 * @typedef {Bounds & { p99_ms: number, success_ratio: number, by_entry?: Record<string, Bounds> }} Slo p99: a day if it has no
 *   bound; by_entry: bounds of the mix's entries
 * @typedef {'even' | 'poisson' | 'recorded'} Arrivals evenly spaced, at random times, or in the rhythm of a log
 * @typedef {{ verdict: 'pass' | 'fail' | 'invalid', because: string, blame?: 'rows' | 'generator' | 'noise' | 'unknown' }} Outcome
 *   blame: the cause that made it invalid
 * @typedef {{ resource: string, evidence: string[], runner_up: string | null, runner_up_evidence: string[], confirmed: boolean | null,
 *   kind?: 'full' | 'lock-step' | 'tie' | 'generator' | 'none' }} Limit kind: of a run's limit; tie: its trials named another
 *   resource as often, or the proof found that the runner-up limits the throughput as much; evidence: sentences with figures;
 *   runner_up: another resource at its limit, or the one nearest to it; confirmed: whether the capacity moved when the limit was
 *   relaxed, or the throughput when it was slowed; null if not tried, not decided, or not ours to change
 */

/**
 * @typedef {object} StepLoad the load on a target
 * @property {string} driver
 * @property {'open' | 'closed'} loop
 * @property {number | null} rate_rps null for a closed loop, which goes as fast as it can
 * @property {number} connections
 * @property {number} [connections_needed] minimum so that their number does not fail the trial (Little's law); with fewer, requests
 *   may wait in the generator
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {boolean} [fresh_connections] a connection for each request
 * @property {boolean} [unbounded] runs vegeta with its own defaults
 * @property {Arrivals} [arrivals] of an open loop's requests; even by default
 * @property {number} [per_worker_rps] maximum number of requests per second for each connection of the driver `workers`
 * @property {number | null} [nofile] the generator's limit of open files
 * @property {number} [timeout_s] timeout of a request, if not the plan's
 * @property {Slice[]} [slices] equal parts of the load, in which suspects are slowed in turns
 * @property {boolean} [times_work] times a fixed piece of work on the service's cores before the load
 * @property {boolean} [checkpoint] runs a CHECKPOINT halfway through the load
 * @property {boolean} [vacuum] runs a VACUUM of the table halfway through the load, as autovacuum would at some time
 * @property {MixPlan} [mix] by default the plan's
 * @typedef {Omit<StepLoad, 'mix' | 'timeout_s'> & { timeout_s: number, mix: string, seed: number, load_hosts?: string[], local_addresses?: string[] }} TrialLoad
 * @typedef {Record<'planned' | 'sent' | 'completed' | 'ok' | 'achieved_rps' | 'goodput_rps' | 'success_ratio', number> & Measured} Traffic
 * @typedef {object} Measured
 * @property {Record<string, number>} status
 * @property {Record<string, number>} errors by side and kind: client:ports, server:reset, …
 * @property {Distribution | null} latency_ms of every request that was answered or timed out
 * @property {Distribution | null} ok_latency_ms of the successes alone
 * @property {Distribution | null} [ok_service_ms] of the successes in an open loop, from the sending: without the wait for a connection
 * @property {Distribution | null} lateness_ms null if the loop has no schedule
 * @property {Distribution | null} queued_ms part of the latency that passed before the sending
 * @property {{ completed: number, ok: number }[]} per_second
 * @property {{ start_ms: number, tick_ms: number, ok: number[] }} [ticks] in a proof: successes by time of response, in
 *   parts of tick_ms; start: since 1970
 * @property {number[]} [backlog] in an open loop: requests that were due but not finished, at the ends of equal parts of the phase
 * @property {number} [closings] how often the target closed a connection after an answer or while it was idle, if the driver counts it
 * @property {number} [threads] number of threads or processes, if a program sends with several
 * @property {number} [children_cpu_s] CPU time of the driver's processes that continue after the phase
 * @property {boolean} [untimed] the driver does not time single requests, so no latency is judged
 * @property {number} [connecting_cpu_s] CPU time for opening connections within the phase; excluded from the generator's use
 * @property {HostTraffic[]} [hosts] the load hosts' own traffic, if the load came from load hosts
 * @property {ByEntry} [by_entry] if the mix has entries and the driver can tell them apart
 * @property {Distribution | null} [ok_body_bytes] size of the successes' bodies, if the driver counts it
 * @property {Distribution | null} [ok_response_bytes] the same with status lines, headers and interim responses
 * @typedef {Omit<Traffic, 'lateness_ms'> & { rows_stored: number | null, warmup_unanswered: number }} TrialTraffic
 * @typedef {Record<'min' | 'mean' | 'p25' | 'p50' | 'p75' | 'p90' | 'p95' | 'p99' | 'p999' | 'max', number>} Distribution in ms, or
 *   in the unit of the figure's name
 * @typedef {Record<string, { completed: number, ok: number, failed?: number, latency_ms: Distribution | null }>} ByEntry failed: requests
 *   without an answer; only our own drivers report them
 * @typedef {{ host: string, planned?: number, sent: number, completed: number, errors: Record<string, number>,
 *   lateness_ms: Distribution | null, start_ms: number | null, word_ms?: number | null, cpu_s: number | null,
 *   cpu_core_ratio: number | null, cores: number | null }} HostTraffic one host's share of a load; lateness_ms: by its
 *   own schedule and clock; start_ms: from the command to begin to the beginning, by its own clock; word_ms: from our command to
 *   begin until the host confirmed it, by our clock; cpu_s: CPU time of the generator there; cores: number of cores that it can
 *   use there; null if unknown
 */

/**
 * @typedef {{ run_id: string, verb: string, argv: string[], started_at: string, finished_at: string | null, plan: any,
 *   interrupted: boolean, machine: Machine, target_machine?: TargetMachine, target_machines?: Record<string, TargetMachine>,
 *   load_hosts?: { host: string, system: string, cores: number }[],
 *   versions: { node: string, redline_commit: string | null, [program: string]: string | null },
 *   database: ({ kind: string, schema: string } & Durability) | null, slo: Slo, pinning: string, warnings: string[],
 *   not_applied: NotAppliedCell[], problem: string | null, answer?: 'interval' | 'at-least' | 'none' | null, capacity?: Capacity | null, capacities?: SloCapacity[], replay?: Replay, limit?: Limit | null, elasticities?: Elasticity[], failure?: string | null, exit_code?: number }} Run run.json;
 *   target_machine: where the target ran, if not here; target_machines: the same for each side that ran elsewhere; database: null if
 *   it is not ours to look at; pinning: which core did what;
 *   problem: why there is no trustworthy answer; capacities: one for each SLO, if there are several; failure: the answer, if it fails a
 *   check; exit_code: if it is neither 0 nor 1 for a problem; answer: kind of capacity found, or null if none was asked for; replay:
 *   the replayed log. What a verb found besides a capacity is kept under names of its own, such as `conclusion`, a sentence
 * @typedef {{ cpu_model: string, cores: number, memory_bytes: number, kernel: string }} Machine
 * @typedef {Machine & { name: string, node: string }} TargetMachine name: as ssh takes it; node: version there
 * @typedef {object} Capacity
 * @property {number | null} low_rps null if the lowest rate tried failed
 * @property {number | null} high_rps null if no rate failed
 * @property {number} trials number of trials that support it
 * @property {number | null} confidence share of such intervals that contain the capacity; null for a ladder, whose share is unknown
 * @property {Slo} [slo]
 * @property {string} [bounded_by] why the generator or the machine could not offer more than low_rps, if that was the bound
 * @property {{ low: number | null, high: number | null }} [times_recorded] low_rps and high_rps as multiples of the mean rate of the
 *   replayed log, to three digits
 * @typedef {Capacity & { slo: Slo, problem: string | null }} SloCapacity
 * @typedef {{ cell: any, because: string }} NotAppliedCell
 * @typedef {{ load_hosts?: string[], ssh_config?: string | null, local_addresses?: string[] }} AskedOrigin source of the load, by default
 *   this machine; ssh_config: used to reach the hosts; local_addresses: this machine's addresses, from which connections come in turn
 * @typedef {Required<Pick<StepLoad, 'driver' | 'mix' | 'warmup_s' | 'duration_s' | 'fresh_connections' | 'unbounded'>> &
 *   Pick<StepLoad, 'arrivals'> & AskedOrigin & Asked} Plan what a run does; plain data, so that --resume can tell whether it is the same
 * @typedef {object} Asked
 * @property {string | null} url null for the API, which we start
 * @property {string} [shown_url] the URL without its secrets; a saved plan has only this one, as its url
 * @property {SshPlan | null} [ssh] the host on which to start the API; by default this one
 * @property {string | null} metrics_url of a service behind a URL
 * @property {string} [postgres_url] of the database of a service behind a URL, which we only look at; a saved plan lacks it
 * @property {string} [start] command that starts this service; a saved plan lacks it
 * @property {number[] | null} rates_rps null to search for the capacity
 * @property {number[]} connections their number in each trial; empty for as many as a trial needs
 * @property {number} [connections_max] the most that the generator has room for, if their number follows from rate and SLO
 * @property {number} [target_connections_max] number beyond which the target closes connections
 * @property {boolean} searches for the capacity, instead of offering the requested loads
 * @property {number} [precision_ratio] half the width of the interval wanted, as a share of its middle
 * @property {number} [sustained_s] duration of the trial that confirms the answer, with a CHECKPOINT in it
 * @property {boolean} confirms the limit by relaxing it, to see whether the capacity moves
 * @property {boolean} [enlarges_pool] enlarges an accused pool in the proof, even if no other limit is relaxed
 * @property {boolean} [proves] the limit by slowing each suspect in turn
 * @property {number} [dose_ratio] share of its time that a suspect loses, if not the usual one; 0 to slow nothing
 * @property {{ pid: number, name: string }[]} [pids] processes of the service behind a URL, on this machine
 * @property {Slo} slo
 * @property {Slo[]} [slos] all SLOs, if there are several; the first is `slo`
 * @property {number} [nth_slo] index of `slo` among the SLOs, if the trials were judged again by another than the first
 * @property {number} timeout_s
 * @typedef {{ at: At, cell: any, left_s: number, about?: string, restart?: boolean, cold_warmup_s?: number, load: StepLoad }} Step the next trial of a
 *   design; cell: null if there is only one target; left_s: expected duration of this trial and all that follow; about: its purpose, for
 *   the progress display; restart: start the target again before this trial; cold_warmup_s: the least warm-up of a target that has just
 *   been started, which only the runner knows of, since a run may be resumed
 */

/**
 * @typedef {object} MixPlan the requests to send: plain data, so that it can cross to the generator's process
 * @property {string} method
 * @property {Header[]} headers
 * @property {string | null} body_base64 the same body for every request; null to send a new user with each
 * @property {string} name
 * @property {number} seed
 * @property {Entry[]} [entries] requests to choose from, instead of the one above
 * @property {Replay} [replay] requests of an access log, instead of the one above
 * @property {Source} [source] file that the body, the entries or the replayed requests come from
 * @property {Record<string, string[]>} [data] columns that the entries name, of equal length
 * @property {Source} [data_source] file that the columns come from
 * @typedef {[name: string, value: string]} Header
 * @typedef {{ flag: 'body' | 'mix' | 'data' | 'replay', file: string, bytes: number, modified_at: string | null }} Source file: path, or (withheld) for a body on the command line
 * @typedef {{ file: string, requests: number, span_s: number, mean_rps: number, peak_rps: number, methods: string[], skipped: Skipped }} Replay facts
 *   about a log, without its content; requests: number of GETs and HEADs, which all the figures are about; span_s: from the first
 *   arrival to the last, plus one mean gap; mean_rps: requests / span_s; peak_rps: in the busiest second
 * @typedef {{ lines: number, not_understood: number, first_line: number | null, methods: number, paths: number }} Skipped lines: number
 *   of non-empty lines in the log; first_line: the first that was not understood; methods: requests other than GET and HEAD; paths:
 *   requests whose target cannot be sent as a path
 * @typedef {{ name: string, method: string, path: string, body: string, weight: number, headers?: Record<string, string>,
 *   take?: Record<string, string>, slo?: Bounds }} Entry path, body, headers: templates, see template.js; body: empty for none; weight: its share of
 *   all weights is its share of the requests; take: JSON Pointers into its response, by the name under which to keep their values;
 *   slo: its own SLO
 */
