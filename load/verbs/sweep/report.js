import { count, offered, ratesText, trialTable } from '../../report/table.js'
import { RESOURCES } from '../../verdict/resources.js'

/**
 * @import { Durability } from '../../../sql/durability.js'
 * @import { TrialRecord } from '../../run/trial.js'
 */

/**
 * report.md: the answer, the table, and what has to be known to trust both. Derived from run.json and trials.ndjson alone.
 *
 * @param {any} run run.json
 * @param {TrialRecord[]} records
 * @returns {string} markdown
 */
export function renderReport(run, records) {
  const parts = [
    `# Redline ${run.verb}: ${run.run_id}`,
    answerText(run, records),
    trialTable(records),
    reasons(records),
    `## How it was measured`,
    method(run, records),
    `## Where`,
    whereAndWhen(run),
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

/**
 * What the run found, in sentences, for the terminal and for the report's top.
 *
 * @param {any} run
 * @param {TrialRecord[]} records
 * @returns {string}
 */
export function answerText(run, records) {
  const cut = run.interrupted ? ['The run was interrupted; --resume with its folder goes on from here.'] : []
  const problem = run.problem ? [`No trustworthy answer: ${run.problem}.`] : []
  const warnings = run.warnings.map((/** @type {string} */ text) => `Warning: ${text}.`)
  const doubt = Number(run.capacity?.confidence ?? 1) < LOW_CONFIDENCE ? [WANDERED] : []
  const capacity = [capacitySentence(run, records), ...costLines(run, records), ...doubt]
  const lines = [...cut, ...problem, ...capacity, ...limitSentences(run), ...warnings]
  return lines.map((line) => line.replace(/^( *)(?:- )?/, '$1- ')).join('\n')
}

/**
 * The answer alone: how much, and what stops it.
 *
 * @param {any} run
 * @param {TrialRecord[]} records
 */
export function sweepSentence(run, records) {
  const [capacity] = capacitySentence(run, records).split(' (')
  const limit = run.limit ? ` Limit: ${run.limit.resource}, ${RESOURCES[run.limit.resource]?.is ?? 'unknown'}.` : ''
  const problem = run.problem ? `No trustworthy answer: ${run.problem}. ` : ''
  return `${problem}${capacity.replace(/, \+-.*|\.$/, '')}.${limit}`
}

/** Of the capacity: trials within it cost about the same per request. */
const NEAR = 0.15

/** The dearest of those trials by the cheapest: within this, the machine was the same. */
const COST_VARIES = 1.25

/**
 * What a request cost the service near its capacity: where its core is the limit, two runs whose rates differ as their
 * costs differ have measured the same service, on a machine that was not the same.
 *
 * @param {any} run
 * @param {TrialRecord[]} records
 * @returns {{ least_us: number, median_us: number, most_us: number, trials: number } | null} null: too few trials know it
 */
export function costNear({ capacity }, records) {
  const costs_us = nearCapacity(capacity, records)
    .flatMap(({ probes }) => probes.api.cpu_us_per_request ?? [])
    .sort((a, b) => a - b)
  if (costs_us.length < 2) return null
  const [least_us, median_us, most_us] = [0, Math.floor(costs_us.length / 2), -1].map((i) => Number(costs_us.at(i)))
  return { least_us, median_us, most_us, trials: costs_us.length }
}

/** @param {any} run @param {TrialRecord[]} records @returns {string[]} */
function costLines(run, records) {
  const near = costNear(run, records)
  if (!near) return []
  const [least, middle, most] = [near.least_us, near.median_us, near.most_us].map((cost_us) => cost_us.toFixed(1))
  const cost = `A request cost the service ${middle} us of CPU near that rate, ${least} to ${most} us in ${near.trials} trials`
  const varied = near.most_us > COST_VARIES * near.least_us
  return [varied ? `${cost}: the speed of this machine varied, and rates move with it.` : `${cost}.`]
}

/**
 * The valid trials at rates about the capacity, with nothing relaxed.
 *
 * @param {{ low_rps: number | null, high_rps: number | null } | null} capacity
 * @param {TrialRecord[]} records
 */
export function nearCapacity(capacity, records) {
  const low_rps = capacity?.low_rps ?? capacity?.high_rps ?? Number.NaN
  const high_rps = capacity?.high_rps ?? capacity?.low_rps ?? Number.NaN
  return records.filter(({ cell, load, outcome }) => {
    const rate_rps = Number(load.rate_rps)
    const isNear = rate_rps >= low_rps * (1 - NEAR) && rate_rps <= high_rps * (1 + NEAR)
    return isNear && !cell && outcome.verdict !== 'invalid'
  })
}

/** In simulations, an interval that claims less holds the capacity in about half of the runs. */
export const LOW_CONFIDENCE = 0.6
const WANDERED =
  'The trials contradict each other: the target or the machine was not the same throughout. Another run may say otherwise.'

/** @param {any} run @param {TrialRecord[]} records */
function capacitySentence({ capacity, slo }, records) {
  if (!capacity) {
    const valid = records.filter((record) => record.outcome.verdict !== 'invalid')
    const best = Math.max(0, ...valid.map(({ traffic }) => traffic.goodput_rps))
    return `No open-loop rate was judged. Highest goodput seen: ${count(Math.round(best))}/s.`
  }
  const { low_rps, high_rps, trials, confidence } = capacity
  const goal = `${slo.success_ratio === 1 ? 'every answer' : `${+(slo.success_ratio * 100).toFixed(4)} % of the answers`} a success, p99 <= ${slo.p99_ms} ms`
  const sure = confidence === null ? '' : `, confidence ${confidence.toFixed(2)}`
  const basis = `(${goal}; ${trials} ${trials === 1 ? 'trial' : 'trials'}, ${loadSeconds(records)} s of load${sure})`
  const rates = `Capacity: ${ratesText(capacity)}`
  if (low_rps === null) return `${rates}, the lowest rate tried ${basis}.`
  if (high_rps === null) return `${rates}; no valid trial failed ${basis}.`
  const width = ((high_rps - low_rps) / (high_rps + low_rps)) * 100
  return `${rates}, +-${width.toFixed(1)} % ${basis}.`
}

/** @param {TrialRecord[]} records */
function loadSeconds(records) {
  return Math.round(records.reduce((sum, { load }) => sum + load.warmup_s + load.duration_s, 0))
}

/** @param {any} run */
function limitSentences({ limit, plan, not_applied = [] }) {
  if (!limit) return []
  const { is, turn } = RESOURCES[limit.resource] ?? { is: 'unknown', turn: '' }
  const runnerUp = limit.runner_up ? ` Runner-up: ${limit.runner_up}.` : ''
  const seen = plan.url && !plan.metrics_url ? [FROM_OUTSIDE] : []
  return [
    `Limit: ${limit.resource}: ${is}.${runnerUp}`,
    ...limit.evidence.map((/** @type {string} */ text) => `  - ${text}`),
    ...limit.runner_up_evidence.map((/** @type {string} */ text) => `  - ${limit.runner_up}: ${text}`),
    ...(limit.resource === 'none-reached' ? [] : [CONFIRMED[String(limit.confirmed)], `Next to turn: ${turn}.`]),
    ...not_applied.map((/** @type {any} */ { cell, because }) => `${cell} could not be tried: ${because}.`),
    ...seen,
  ]
}

const FROM_OUTSIDE = 'Seen from outside only: what happens within the service is not known (--metrics-url tells more).'

/** @type {Record<string, string>} */
const CONFIRMED = {
  true: 'Confirmed: relaxed, it let more through.',
  false: 'Not confirmed: what was relaxed did not let more through.',
  null: 'Not confirmed: not relaxed, or not ours to relax.',
}

/** Every verdict but a pass, with its reason. @param {TrialRecord[]} records */
function reasons(records) {
  return records
    .filter(({ outcome }) => outcome.verdict !== 'pass')
    .map(({ trial, cell, load, outcome }) => {
      const where = `trial ${trial}, ${cell ? `${cell}, ` : ''}${offered(load)}`
      return `- ${where}: **${outcome.verdict}**, ${outcome.because}`
    })
    .join('\n')
}

/** @param {any} run @param {TrialRecord[]} records */
function method(run, records) {
  const { plan, pinning, target_machine } = run
  const rows = plan.url
    ? 'rows are not counted: the database behind a URL is not ours'
    : 'the stored rows are counted after it'
  const table = plan.url ? 'The service ran already and was left as it is' : 'The table is emptied before each trial'
  const lengths = [...new Set(records.map(({ load }) => load.duration_s))].sort((a, b) => a - b)
  const times = lengths.length > 1 ? `${lengths[0]} to ${lengths.at(-1)}` : (lengths[0] ?? plan.duration_s)
  const lines = [
    `- Trials of ${times} s after ${plan.warmup_s} s of warm-up or more. ${table}; ${rows}.`,
    ...loopLines(records),
    `- ${pinning}`,
    ...(target_machine ? [seenThere(target_machine)] : []),
    ...[settingsLine(records)].filter(Boolean),
    '- p50, p99 and max are exact, over every request of a trial that was answered or timed out.',
    ...[generatorLine(records)].filter(Boolean),
    ...hostLines(run, records),
    `- Command: \`npm run ${run.verb} -- ${run.argv.join(' ')}\`, seed ${plan.mix.seed}.`,
  ]
  return lines.join('\n')
}

/** @param {TrialRecord[]} records */
function loopLines(records) {
  const loops = [...new Set(records.map(({ load }) => `${load.loop} ${load.driver}`))]
  return loops.map((name) => {
    const own = records.map(({ load }) => load).filter((load) => `${load.loop} ${load.driver}` === name)
    const connections = [...new Set(own.map((load) => load.connections))].join(', ')
    return own[0].loop === 'open'
      ? `- Open loop (${own[0].driver}, ${connections} connections${own[0].fresh_connections ? ', a new one for each request' : ''}): requests leave on a schedule; latency counts from the intended send time.`
      : `- Closed loop (${own[0].driver}, ${connections} connections): each sends when its answer has come.`
  })
}

/**
 * What decides most about a local target, as it was read back from the process.
 *
 * @param {TrialRecord[]} records
 */
export function settingsLine([first]) {
  const shown = ['INSERT_MODE', 'POOL_MAX', 'POOL_CONNECT_TIMEOUT_MS', 'MAX_QUEUE_MS', 'PASSWORD_STORAGE', 'NOFILE']
  const set = shown.filter((name) => first?.settings[name] !== undefined)
  return set.length > 0 && `- Settings, read back: ${set.map((name) => `${name}=${first.settings[name]}`).join(', ')}.`
}

/** @param {TrialRecord[]} records */
function generatorLine(records) {
  const late = records.map(({ probes }) => probes.generator.lateness_ms?.p99).filter((ms) => ms !== undefined)
  return late.length > 0 && `- The generator itself was late by at most ${Math.max(...late)} ms at p99 in any trial.`
}

/**
 * What each load host did, in all trials.
 *
 * @param {any} run
 * @param {TrialRecord[]} records
 */
export function hostLines({ load_hosts = [] }, records) {
  return load_hosts.map((/** @type {{ host: string, system: string, cores: number }} */ { host, system, cores }) => {
    const own = records.flatMap(({ traffic }) => traffic.hosts?.filter((one) => one.host === host) ?? [])
    const sent = own.reduce((sum, one) => sum + one.sent, 0)
    const late_ms = own.flatMap(({ lateness_ms }) => lateness_ms?.p99 ?? [])
    const late = late_ms.length > 0 ? `, at most ${Math.max(...late_ms)} ms late at p99 by its own clock` : ''
    const used = own.flatMap(({ cpu_core_ratio }) => cpu_core_ratio ?? [])
    const cpu =
      used.length > 0
        ? `its generator used at most ${Math.round(Math.max(...used) * 100)} % of a core`
        : 'what its generator used is not seen'
    return `- Load from ${host} (${system}, ${cores} cores): ${count(sent)} requests${late}; ${cpu}.`
  })
}

/**
 * Machine, versions and date, as a list.
 *
 * @param {any} run run.json
 */
export function whereAndWhen({ machine, target_machine, versions, database, started_at, finished_at }) {
  return [
    ...(target_machine
      ? [`- ${target_machine.name}, on which the API ran: ${machineText(target_machine)}, Node ${target_machine.node}`]
      : []),
    `- ${target_machine ? 'The generator and the lab: ' : ''}${machineText(machine)}`,
    `- Node ${versions.node}, Postgres ${versions.postgres ?? 'not ours'}, Redline ${versions.redline_commit ?? 'without git'}, ${versions.driver}`,
    // Runs of older versions do not say.
    ...(database ? [`- ${databaseText(database)}`] : []),
    `- ${started_at} to ${finished_at ?? '(not finished)'}`,
  ].join('\n')
}

/** @param {{ kind: string, schema: string } & Durability} database */
function databaseText({ kind, schema, unlogged, file_system, ...settings }) {
  const names = /** @type {const} */ (['fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method'])
  const where = kind === 'embedded' ? 'Database started for this run' : `Database given, schema ${schema}`
  const table = `${unlogged ? 'an UNLOGGED' : 'a logged'} table`
  const data = file_system ? `data on ${file_system}` : 'data on an unknown file system'
  return [`${where}: ${table}`, ...names.map((name) => `${name} ${settings[name]}`), data].join(', ')
}

/** @param {{ cpu_model: string, cores: number, memory_bytes: number, kernel: string }} machine */
function machineText({ cpu_model, cores, memory_bytes, kernel }) {
  return `${cpu_model}, ${cores} cores, ${(memory_bytes / 2 ** 30).toFixed(0)} GiB, ${kernel}`
}

/** @param {{ name: string }} machine */
function seenThere({ name }) {
  return `- Seen on ${name}, by its own clock: the process of the API and the kernel. Not seen: what CPU Postgres used, and what its host took from it.`
}
