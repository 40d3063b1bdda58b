import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { DatabaseError } from '../../sql/database.js'
import { startGenerator } from '../generators/drive.js'
import { startProbes } from '../probes/index.js'
import { watchProcess } from '../probes/process.js'
import { isThisMachine } from '../system/addresses.js'
import { countedDoses } from '../system/dose/commit.js'
import { timeWork_ms } from '../system/speed.js'
import { addressOf } from '../targets/index.js'
import { openDosing } from '../verdict/dose/dosing.js'
import { suspectsIn } from '../verdict/dose/suspects.js'
import { judge } from '../verdict/judge.js'
import { limitOf } from '../verdict/limit.js'
import { leftOver_s, warmUp } from './warmup.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Generator } from '../generators/drive.js'
 * @import { Load } from '../generators/drivers/index.js'
 * @import { Calm, Target } from '../targets/index.js'
 * @import { At, MixPlan, Slo, StepLoad, TrialRecord } from '../report/record.js'
 */

/**
 * Offset of trial numbers in a resumed run, above the number of trials of any run: an interrupted trial has no record, so the resumed
 * run reuses its number, but must send new requests all the same.
 */
const RESUMED_TRIALS = 10_000

/**
 * Runs one trial: empties the table (and fills it if the target asks for that), warms up, drives, counts the stored rows, judges.
 * @param {{ target: Target, database: Database | null, look?: Look, slo: Slo, runId: string, experiment: string, at: At, cell: any }} setup
 *   database: null if the target's rows are not ours to count; look: reads the database of such a target
 * @param {TrialPlan} plan @param {AbortSignal} signal @param {(counts: any) => void} onCounts called while the load runs
 * @param {(...args: Parameters<typeof startGenerator>) => Promise<Generator>} [start] @returns {Promise<TrialRecord>}
 * @typedef {StepLoad & Pick<Load, 'load_hosts' | 'ssh_config' | 'local_addresses'> & { trial: number, resumptions?: number, mix: MixPlan,
 *   timeout_s: number }} TrialPlan trial: number within the run, from 1; resumptions: of the run
 */
export async function runTrial(setup, plan, signal, onCounts, start = startGenerator) {
  const { target, database, look = null, slo, runId, experiment, at, cell } = setup
  const started_at = new Date().toISOString()
  await orAborted(signal, async () => database?.reset())
  await target.fill?.(signal)
  const work_ms = plan.times_work ? await orAborted(signal, () => workOn_ms(target)) : null
  const load = { ...plan, ...addressOf(target), trial: plan.trial + RESUMED_TRIALS * (plan.resumptions ?? 0) }
  const startLoad = target.startLoad ?? start
  const generator = await startLoad(load, signal, withCore(target, onCounts), { nofile: plan.nofile })
  /** @type {Awaited<ReturnType<typeof startProbes>> | undefined} */
  let probes
  let calm = /** @type {Calm} */ (async () => {})
  /** @type {Awaited<ReturnType<typeof openDosing>> | undefined} */
  let dosing
  const over = new AbortController()
  try {
    if (target.disturb) calm = await target.disturb(generator, at, load, signal)
    const warmup = await orDied(target, warmUp(generator, plan))
    await setTimeout(leftOver_s(plan, warmup) * 1000, undefined, { signal })
    // A target that has just started opens its connections, each with a Postgres process, during the warm-up.
    if (plan.slices) dosing = await openDosing(await suspectsIn(plan.slices, { target, generator, database }), signal)
    await orDied(target, generator.ready(plan.duration_s))
    const counted = target.writesBeside ? null : database
    const rowsBefore = await orAborted(signal, async () => counted?.countRows())
    if (rowsBefore === 0 && warmup.created > 0) {
      throw new DatabaseError(
        `the service acknowledged ${warmup.created} rows, none of which is in the table that the lab checks: ` +
          'expected both to use one database and one search_path',
      )
    }
    probes = await orAborted(signal, async () => {
      const started = await startProbes({ target, database: database ?? look, generator })
      if (signal.aborted) started.stop()
      return started
    })
    // The probes end with the last response: what the generator computes afterwards, or waits for, is not part of the load.
    let findings
    const onEnd = () => {
      findings = probes?.end()
    }
    const upkeep = upkeepIn(database, plan, plan.duration_s / 2, AbortSignal.any([signal, over.signal]))
    const dosed = dosing?.run(plan.slices ?? [], plan.duration_s)
    // Awaited after the load; an abort rejects both.
    dosed?.catch(() => {})
    const { lateness_ms, planned, ...traffic } = await orDied(target, generator.run(plan.duration_s, onEnd))
    const seen = findings ?? probes.end()
    const found = await orAborted(signal, () => seen({ ...traffic, lateness_ms }))
    Object.assign(found.postgres, await upkeep)
    const taken = await dosed
    const doses = taken && countedDoses(taken, found.postgres.wal_flushes ?? 0, plan.duration_s)
    const beside = await calm()
    calm = async () => {}
    const rowsAfter = await orAborted(signal, async () => counted?.countRows())
    const rows_stored = counted ? Number(rowsAfter) - Number(rowsBefore) : null
    const counts = { planned, rows_stored, warmup_unanswered: warmup.unanswered }
    const { kind, url, shownUrl = url, pid, cores, settings } = target
    const record = {
      ...{ run_id: runId, trial: plan.trial, started_at, experiment, at, cell, settings },
      target: { kind, url: shownUrl, pid, cores },
      load: describeLoad(plan),
      traffic: { ...counts, ...traffic },
      probes: found,
      ...(work_ms !== null && { work_ms }),
      ...(beside && { beside }),
      ...(doses && { doses }),
    }
    const judged = { ...record, outcome: judge(record, slo) }
    return { ...judged, limit: limitOf(judged, slo) }
  } finally {
    over.abort()
    probes?.stop()
    try {
      await dosing?.close()
    } finally {
      try {
        await calm()
      } finally {
        await generator.close()
      }
    }
  }
}

/**
 * Runs the CHECKPOINT or the VACUUM that a load asks for, and times it, in a session of its own, since the lab's one samples what
 * Postgres waits for. On failure, such as a role without pg_checkpoint, returns the reason.
 * @param {Database | null} database @param {Pick<StepLoad, 'checkpoint' | 'vacuum'>} load @param {number} delay_s @param {AbortSignal} signal
 * @returns {Promise<Pick<TrialRecord['probes']['postgres'], 'checkpoint_s' | 'checkpoint_problem' | 'vacuum_s' | 'vacuum_problem'>>}
 */
export async function upkeepIn(database, load, delay_s, signal) {
  const kind = /** @type {const} */ (['checkpoint', 'vacuum']).find((one) => load[one])
  if (!database || !kind) return {}
  try {
    await setTimeout(delay_s * 1000, undefined, { signal })
    return { [`${kind}_s`]: await database.upkeep_s(kind, signal) }
  } catch (error) {
    return { [`${kind}_problem`]: /** @type {Error} */ (error).message }
  }
}

/** @param {TrialPlan} plan */
function describeLoad({ mix, trial, resumptions, ssh_config, load_hosts, slices, times_work, ...load }) {
  const hosts = load_hosts && { load_hosts: load_hosts.map(({ host }) => host) }
  return { ...load, ...hosts, mix: mix.name, seed: mix.seed }
}

/** Times a fixed piece of work on the service's cores, or on any if it was already running on this machine; null: unknown. @param {Target} target @returns {Promise<number | null>} ms */
async function workOn_ms({ kind, url, host, cores, pid }) {
  if (host) return host.ask('timeWork', { cores })
  const isHere = kind === 'url' ? await isThisMachine(url) : kind === 'local' || (kind === 'started' && pid !== null)
  return isHere ? timeWork_ms(cores) : null
}

/** Adds the target's use of its core to the counts, for the progress view. @param {Target} target @param {(counts: any) => void} onCounts */
function withCore({ kind, pid }, onCounts) {
  const own = kind === 'ssh' ? null : pid
  let use = watchProcess(own)
  return (/** @type {object} */ counts) => {
    onCounts({ ...counts, api_core_ratio: use()?.cpu_core_ratio ?? null })
    use = watchProcess(own)
  }
}

/** @template T @param {Target} target @param {Promise<T>} work */
function orDied(target, work) {
  return Promise.race([work, target.died])
}

/** Stops waiting on Ctrl-C, even for a query blocked by a lock. @template T @param {AbortSignal} signal @param {() => Promise<T>} work */
async function orAborted(signal, work) {
  signal.throwIfAborted()
  const settled = new AbortController()
  const aborted = once(signal, 'abort', { signal: settled.signal }).then(() => {
    throw signal.reason
  })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    settled.abort()
  }
}
