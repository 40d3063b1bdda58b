import { spoken } from '../command/spoken.js'
import { EXACT_SAMPLES } from '../generators/drivers/recorder.js'
import { answer, drawn, heading, list } from '../report/blocks.js'
import { cellName, count, offered, wholePercent } from '../report/format.js'
import { secondsPicture } from '../report/seconds.js'
import { trialTable } from '../report/trials.js'
import { quoted } from '../system/ssh/remote.js'
import { conditionsOf, settingsText, targetHosts } from './conditions.js'

/**
 * @import { Block } from '../report/blocks.js'
 * @import { Experiment, Findings } from './experiment.js'
 * @import { Run, TrialRecord } from '../report/record.js'
 */

/**
 * The report of a run: the problem and the verb's answer, all warnings and what could not be applied, the rest of the verb's
 * report, every trial, the method, the command and the machine.
 * @param {Pick<Experiment, 'report'> & { script?: string }} experiment script: name of the npm script, by default the verb's
 * @param {Findings} findings @param {Run} run @param {TrialRecord[] | null} records null: the verb measures without trials
 */
export function framed(experiment, findings, run, records) {
  const own = experiment.report(findings)
  const found = own.flatMap((block) => (block.kind === 'answer' ? block.text : []))
  const methods = own.flatMap((block) => (block.kind === 'method' ? block.items : []))
  const soFar = run.interrupted ? ['Not finished. So far:'] : []
  const problem = run.problem ? [`No trustworthy answer: ${run.problem}.`] : soFar
  const notes = notesOf(run, records !== null)
  const trials = records ? methodOf(run, records) : []
  return [
    answer([...problem, ...found].join(' ')),
    ...(notes.length > 0 ? [list(notes)] : []),
    ...own.filter(({ kind }) => kind !== 'answer' && kind !== 'method'),
    ...(records ? trialBlocks(records, findings.not_counted) : []),
    heading('How it was measured', { folded: true, ...DETAIL }),
    list([...methods, ...trials, commandOf(run, experiment.script)]),
    heading('Machine and versions', { folded: true, ...DETAIL }),
    list(conditionsOf(run, records ?? [])),
  ]
}

const DETAIL = { detail: true }

/** @param {TrialRecord[]} records @param {TrialRecord[]} [notCounted] @returns {Block[]} */
function trialBlocks(records, notCounted) {
  const seconds = secondsPicture(records)
  const failed = records.filter(({ outcome }) => outcome.verdict !== 'pass')
  const reasons = failed.map(({ trial, cell, load, outcome }) => {
    const where = [`trial ${trial}`, cellName(cell), offered(load)].filter(Boolean).join(', ')
    return `${where}: **${outcome.verdict}**, ${outcome.because}`
  })
  return [
    ...(seconds ? [heading('Second by second', DETAIL), drawn(seconds)] : []),
    heading(`Every trial (${records.length})`, { folded: true, ...DETAIL }),
    trialTable(records, notCounted),
    ...(reasons.length > 0 ? [list(reasons)] : []),
  ]
}

/** The notes that a reader needs first. @param {Run} run @param {boolean} isResumable */
function notesOf({ interrupted, warnings = [], not_applied = [] }, isResumable) {
  const rest = isResumable ? '`--resume` with its folder continues it' : 'this is what it had measured so far'
  const notes = not_applied.map(({ cell, because }) => `${cellName(cell)} could not be applied: ${because}.`)
  const warned = warnings.map((text) => `Warning: ${text}.`)
  return [...(interrupted ? [`The run was interrupted; ${rest}.`] : []), ...warned, ...notes]
}

/** @param {Run} run @param {TrialRecord[]} records */
function methodOf(run, records) {
  const { plan, pinning } = run
  const hosts = targetHosts(run).map(({ name }) => name)
  const lengths = [...new Set(records.map(({ load }) => load.duration_s))].sort((a, b) => a - b)
  const [least_s, most_s] = [lengths[0] ?? plan.duration_s, lengths.at(-1)].map(Number).map(count)
  const times = lengths.length > 1 ? `${least_s} to ${most_s}` : least_s
  const warmup_s = Math.min(...records.map(({ load }) => load.warmup_s))
  const warmup = warmup_s > 0 && Number.isFinite(warmup_s) ? ` after ${warmup_s} s of warm-up or more` : ''
  const late_ms = records.flatMap(({ probes }) => probes.generator?.lateness_ms?.p99 ?? [])
  // Versions that did not yet record the backlog, which only open loops have, kept every sample.
  const isExact = !records.some(({ load, traffic }) => {
    return (traffic.backlog || load.loop === 'closed') && traffic.planned > EXACT_SAMPLES
  })
  return [
    `Trials of ${times} s${warmup}.${rowsText(records)}`,
    ...loopLines(records),
    pinning,
    hosts.length > 0 &&
      `Observed on ${hosts.join(' and ')}, ${hosts.length > 1 ? 'each by its own clock' : 'by its own clock'}: the API's process and the kernel. Not observed: a Postgres on another machine, and the CPU time that its host withheld.`,
    settingsText(records),
    `p50, p99 and max are ${isExact ? 'exact' : 'to four digits'}, over every request of a trial that was answered or timed out.`,
    late_ms.length > 0 && `The generator was late by at most ${Math.max(...late_ms)} ms at p99 in any trial.`,
    ...hostLines(run, records),
  ].flatMap((line) => line || [])
}

/** @param {Run} run @param {string} [script] */
function commandOf({ verb, argv, plan }, script = verb) {
  const seed = plan.mix ? `, seed ${plan.mix.seed}` : ''
  const words = argv.length > 0 ? [script, '--', ...argv.map(quoted)] : [script]
  return spoken(`Command: \`npm run ${words.join(' ')}\`${seed}.`)
}

/** @param {TrialRecord[]} records */
function rowsText(records) {
  if (records.some(({ target }) => target.kind === 'url')) {
    return ' The service was already running and is left as it is; its rows are not counted, since its database is not ours.'
  }
  if (records.some(({ target }) => target.kind === 'started'))
    return ' Rows are not counted, since the database is not ours.'
  if (records.every(({ traffic }) => traffic.rows_stored === null)) return ''
  return ' The table is emptied before each trial, and the stored rows are counted after it: every 201 is a row, or the trial is invalid.'
}

const SPACING = { even: 'evenly spaced', poisson: 'at random times (Poisson)', recorded: 'in the rhythm of the log' }

/** @param {TrialRecord[]} records */
function loopLines(records) {
  const loops = [...new Set(records.map(({ load }) => `${load.loop} ${load.driver}`))]
  return loops.map((name) => {
    const own = records.map(({ load }) => load).filter((load) => `${load.loop} ${load.driver}` === name)
    const [{ loop, driver, fresh_connections, arrivals }] = own
    const connections = `${driver}, ${connectionsText(own)}`
    return loop === 'open'
      ? `Open loop (${connections}${fresh_connections ? ', a new one for each request' : ''}): requests leave on a schedule, ${SPACING[arrivals ?? 'even']}; latency counts from the intended send time.`
      : `Closed loop (${connections}): each connection sends its next request when its response arrives.`
  })
}

/** @param {TrialRecord['load'][]} loads */
function connectionsText(loads) {
  const numbers = [...new Set(loads.map(({ connections }) => connections))]
  const byNeed = loads.filter(
    ({ connections, connections_needed = 0 }) => connections_needed > 0 && connections !== numbers[0],
  )
  if (byNeed.length > 0) {
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)].map(count)
    const fewer = loads.filter(({ connections, connections_needed = 0 }) => connections < connections_needed).length
    const bound = fewer > 0 ? `, but fewer in ${fewer} of ${loads.length} trials` : ''
    return `${least} to ${most} connections, as many as the rate needs within the SLO${bound}`
  }
  return `${numbers.toSorted((a, b) => a - b).join(', ')} connection${numbers.join() === '1' ? '' : 's'}`
}

/** Sums up each load host's part in all trials. @param {Pick<Run, 'load_hosts'>} run @param {TrialRecord[]} records */
function hostLines({ load_hosts = [] }, records) {
  return load_hosts.map(({ host, system, cores }) => {
    const own = records.flatMap(({ traffic }) => traffic.hosts?.filter((one) => one.host === host) ?? [])
    const sent = own.reduce((sum, one) => sum + one.sent, 0)
    const late_ms = own.flatMap(({ lateness_ms }) => lateness_ms?.p99 ?? [])
    const late = late_ms.length > 0 ? `, at most ${Math.max(...late_ms)} ms late at p99 by its own clock` : ''
    const used = own.flatMap(({ cpu_core_ratio }) => cpu_core_ratio ?? [])
    const cpu = `its generator used at most ${wholePercent(Math.max(...used))} of a core`
    const seen = used.length > 0 ? cpu : 'the CPU time of its generator is unknown'
    return `Load from ${host} (${system}, ${cores} cores): ${count(sent)} requests${late}; ${seen}.`
  })
}
