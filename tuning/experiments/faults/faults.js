import { fileURLToPath } from 'node:url'
import { isSettled, isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { nextOfProof, PROOF_S } from '../../../load/capacity/proving.js'
import { UsageError } from '../../../load/command/errors.js'
import { blocksFlag, durationFlag, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { isSameCell } from '../../../load/report/format.js'
import { localPlan } from '../../../load/run/plan.js'
import { refuseUnnamed } from '../../../load/run/site.js'
import { startListening } from '../../../load/system/listening.js'
import { coresOf } from '../../../load/system/machine.js'
import { SSH_FLAGS, sshPlanOf } from '../../../load/system/ssh/plan.js'
import { openApi } from '../../../load/targets/index.js'
import { relaxed, relaxedCell } from '../../../load/verdict/relax.js'
import { analyse, missingIn, plantedTrial, report, trialsOf } from './findings.js'
import { FAULTS, notchOf } from './index.js'
import { runInside } from './namespace.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { FaultsFindings } from './findings.js'
 * @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { blocks: 1, duration: 3000, seed: 1 }
const QUICK = { duration: 1000 }
const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const NAMES = Object.keys(FAULTS)
const EASY = NAMES.filter((name) => !FAULTS[name].hard)
const SLO = { p99_ms: 100, success_ratio: 1 }
const TIMEOUT_S = 2
const WARMUP_S = 1
const LOAD = { driver: 'paced', loop: /** @type {const} */ ('open'), rate_rps: 1000, connections: 64 }
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null }

/** Does the diagnosis name the limit that was planted? @type {Experiment<FaultsPlan, FaultsFindings>} */
export const faults = {
  name: 'faults',
  about: 'does Redline name the limit that was planted?',
  details: `Plants one fault after another, for real, and reports which limit is named.\n\n${Object.entries(FAULTS)
    .map(([name, { resource, about }]) => `  ${name.padEnd(23)} ${resource.padEnd(22)} ${about}`)
    .join('\n')}`,
  flags: {
    blocks: blocksFlag('fault is planted', DEFAULTS.blocks),
    duration: durationFlag(`duration of each trial (default ${DEFAULTS.duration / 1000}s)`),
    quick: switchFlag('trials of 1s'),
    proof: switchFlag(
      'also prove each limit by dose, and plant faults that only a proof can name (one to two minutes each)',
    ),
    only: { value: 'A,B,C', about: 'only these faults', ...someOf(NAMES) },
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
    inside: switchFlag('internal: set when a run restarts itself in a network namespace'),
    ...SSH_FLAGS,
  },
  examples: `  npm run faults                    about 4 minutes
  npm run faults -- --quick --only cpu-quota,held-lock
  npm run faults -- --only pool-of-one,held-lock --blocks 3
  npm run faults -- --only expensive-trigger --proof
  npm run faults -- --ssh ubuntu@host --database-url 'postgres://…'   those that can be made and seen there`,
  plan: planOf,
  async prepare(plan, { results, run }, io) {
    refuseUnnamed(io.environment)
    if (plan.skipped) io.progress.note(`skipped: ${plan.skipped}`)
    const names = plan.faults.filter((/** @type {string} */ name) => FAULTS[name].namespace && !plan.inside)
    if (names.length === 0 || results.readTrials().length > 0) return
    const { records, words } = await runInside(names, plan, io)
    // The trials that are missing would be measured outside, where nothing is planted.
    const missing = missingIn({ repeats: plan.repeats, faults: names }, records)
    if (missing.length > 0) {
      const expected = `expected ${names.join(', ')} in each of ${plan.repeats} blocks, measured in a network namespace of its own`
      throw new Error(`${expected}, got none of ${missing.join(', ')}; its last output: ${words}`)
    }
    // With trials, it is a run that can be resumed, even if no target of ours is opened later.
    results.writeRun(run)
    for (const record of records) results.appendTrial({ ...record, run_id: run.run_id })
  },
  design,
  open: openFaulty,
  analyse,
  report,
}

/** @typedef {Plan & { repeats: number, faults: string[], inside: boolean, skipped: string | null }} FaultsPlan skipped: the reasons */

/** @param {Record<string, any>} flags @returns {FaultsPlan} */
function planOf(flags) {
  const usual = { ...DEFAULTS, ...(flags.quick && QUICK), only: flags.proof ? NAMES : EASY }
  const { duration: duration_ms, seed, only, blocks } = { ...usual, ...flags }
  const ssh = sshPlanOf(flags)
  const plan = localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S })
  const names = NAMES.filter((name) => only.includes(name) && !(ssh && FAULTS[name].here))
  if (names.length === 0) throw new UsageError(`--only: expected faults that can be made on another host, got ${only}`)
  const inside = flags.inside === true
  const problems = new Map(names.map((name) => [name, inside ? null : FAULTS[name].problem?.()]))
  const possible = names.filter((name) => !problems.get(name))
  const skipped = [...problems].flatMap(([name, problem]) => (problem ? `${name}: ${problem}` : [])).join('; ') || null
  const planted = { repeats: blocks, faults: possible, inside, skipped, ...(flags.proof && { proves: true }) }
  return { ...plan, ssh, slo: SLO, warmup_s: WARMUP_S, ...planted }
}

/**
 * Plants each fault once per block, and again with the accused limit relaxed if that limit is one of our knobs.
 * @param {FaultsPlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} [notApplied] limits that could not be relaxed
 * @returns {Step | null}
 */
function design(plan, records, notApplied = []) {
  const { repeats, faults: names, warmup_s, duration_s } = plan
  const places = Array.from({ length: repeats }, (_, block) => names.map((fault) => ({ block, fault }))).flat()
  for (const [i, { block, fault }] of places.entries()) {
    const own = trialsOf(records, block, fault)
    const load = { ...LOAD, warmup_s, duration_s, ...FAULTS[fault].load }
    const [left_s, later_s] = [i, i + 1].map((from) => durationOf(plan, places.slice(from)))
    const step = { at: { block }, left_s, load }
    const planted = plantedTrial(own)
    if (!planted) return { ...step, cell: { fault } }
    const relaxing = relaxedCell(planted.limit.resource, planted)
    const cell = { fault, ...relaxing }
    const notch = notApplied.some((one) => isSameCell(one.cell, cell)) ? null : relaxing
    const again = own.filter((record) => record.at.phase !== 'proof' && isSameCell(record.cell, cell))
    if (notch && !isSettled(again, isValid, MAX_INVALID)) return { ...step, cell }
    if (!plan.proves || !FAULTS[fault].dosed) continue
    const changed = notch && 'POOL_MAX' in notch ? [cell] : []
    // By Little's law, so many closed-loop connections get their answers within half of the timeout.
    const inTime = Math.max(1, Math.floor((planted.traffic.achieved_rps * TIMEOUT_S) / 2))
    const closed = { ...CLOSED, connections: Math.min(load.connections, inTime) }
    const proof = nextOfProof(plan, own, { seen: planted, load: closed, changed })
    if (proof) return { ...proof, at: { ...proof.at, block }, left_s: proof.left_s + later_s }
  }
  return null
}

/** Expected seconds of a trial with each of these faults, and of their proofs. @param {FaultsPlan} plan @param {{ fault: string }[]} places */
function durationOf({ warmup_s, duration_s, proves }, places) {
  const dosed = places.filter(({ fault }) => proves && FAULTS[fault].dosed)
  return places.length * (warmup_s + duration_s + 1) + dosed.length * PROOF_S
}

/** Opens the API with a cell's fault around it. @param {Cell | null} cell @param {Place} place @returns {Promise<Target>} */
async function openFaulty(cell, place) {
  const { settings, nodeFlags: own = [], preload, nofile = null, proxy, plant } = FAULTS[String(cell?.fault)]
  const nodeFlags = preload ? [...own, `--import=${new URL(`preload.js?${preload}`, import.meta.url)}`] : own
  const faulty = { ...place, env: { ...place.env, ...settings }, nodeFlags, nofile }
  const target = await openApi(relaxed(faulty, notchOf(cell)))
  const { pid, cores } = target
  if (plant) {
    const around = { databaseUrl: place.databaseUrl, api: { pid: Number(pid), cores } }
    target.disturb = ({ pid }) => plant({ ...around, generator: { pid, cores: coresOf(pid) } })
  }
  if (!proxy) return target
  const before = await startProxy(proxy, target.url, place.logFile).catch(async (error) => {
    await target.stop()
    throw error
  })
  const stop = async () => {
    await before.stop()
    await target.stop()
  }
  return { ...target, url: before.url, stop }
}

/** Starts a proxy in its own process on this machine. @param {string} kind @param {string} url of the API @param {string} logFile */
async function startProxy(kind, url, logFile) {
  const where = { cores: null, env: process.env, logFile }
  const { service, ports } = await startListening(`the proxy ${kind}`, where, 1, ([port]) => {
    return [process.execPath, PROXY, kind, url, String(port)]
  })
  return { url: `http://127.0.0.1:${ports[0]}${new URL(url).pathname}`, stop: service.stop }
}
