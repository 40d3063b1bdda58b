import { nextStep } from '../../../load/capacity/capacity.js'
import { capacityFound } from '../../../load/capacity/found.js'
import { COLD_WARMUP_S, isSettled, isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { numberFlag, oneOf, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { answer, method, table } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE, ratesText } from '../../../load/report/format.js'
import { planOf } from '../../../load/run/plan.js'
import { median } from '../../../load/verdict/ranks.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

const DEFAULTS = { blocks: 5, driver: 'wrk', seed: 1 }

/** Load by a program that shares no code with the lab's own generator. */
const REFERENCE = {
  ...{ loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 256 },
  ...{ warmup_s: COLD_WARMUP_S, duration_s: 8 },
}
const SWEEP_S = 100

/**
 * Does a sweep find what another generator gets through? Sweeps without proof alternate with closed loops of wrk on the same
 * service, database and cores.
 * @type {Experiment<OpinionPlan, OpinionFindings>}
 */
export const secondOpinion = {
  name: 'second-opinion',
  about: "does a sweep match another generator's throughput?",
  flags: {
    driver: {
      value: 'NAME',
      about: `for closed loops: wrk (default; apt-get install wrk) or autocannon`,
      ...oneOf(['wrk', 'autocannon']),
    },
    blocks: numberFlag(`sweeps, each between two closed loops (default ${DEFAULTS.blocks})`, 1, 100),
    quick: switchFlag('one sweep: about three minutes'),
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run second-opinion            about a quarter of an hour
  npm run second-opinion -- --quick
  INSERT_MODE=single npm run second-opinion -- --blocks 3`,
  plan(flags, settings) {
    const { blocks, driver, seed } = { ...DEFAULTS, ...(flags.quick && { blocks: 1 }), ...flags }
    return { ...planOf({ seed, 'no-proof': true, 'no-confirm': true }, settings), blocks, reference: driver }
  },
  async prepare({ reference }) {
    DRIVERS[reference].check?.({ url: 'http://127.0.0.1', method: 'POST' })
  },
  design,
  analyse,
  report: ({ reference, pairs, ratio }) => [
    answer(
      ratio === null
        ? 'No sweep could be compared.'
        : `The sweeps' midpoints are ${ratio.toFixed(2)} times ${reference}'s throughput (median of ${pairs.filter((one) => one.ratio !== null).length}).`,
    ),
    table(
      ['sweep', 'capacity', 'before', 'after', 'p99', `midpoint / ${reference}`],
      pairs.map(({ block, capacity, loop_rps, loop_p99_ms, ratio }) => [
        String(block),
        capacity ? ratesText(capacity) : NONE,
        ...loop_rps.map((rps) => (Number.isNaN(rps) ? NONE : `${count(Math.round(rps))}/s`)),
        milliseconds(loop_p99_ms),
        ratio === null ? NONE : ratio.toFixed(2),
      ]),
      { name: 'opinions' },
    ),
    method([
      `Before and after: a closed loop of ${REFERENCE.connections} connections by ${reference} for ${REFERENCE.duration_s} s. The ratio is to the mean of the two.`,
      'A closed loop has no SLO: where its p99 exceeds that of the sweep, its rate is no capacity, and a ratio below 1 is right.',
    ]),
  ],
}

/** @typedef {Plan & { blocks: number, reference: string }} OpinionPlan reference: driver of the closed loops */

/** @param {OpinionPlan} plan @param {TrialRecord[]} records @param {any[]} [notApplied] @returns {Step | null} */
function design(plan, records, notApplied = []) {
  for (let block = 1; block <= plan.blocks; block++) {
    const step = referenceStep(plan, records, block) ?? sweepStep(plan, records, block, notApplied)
    if (step) return step
  }
  return referenceStep(plan, records, plan.blocks + 1)
}

/** The loop before a sweep, which is also the one after the previous sweep. @param {OpinionPlan} plan @param {TrialRecord[]} records @param {number} block @returns {Step | null} */
function referenceStep({ blocks, reference }, records, block) {
  if (isSettled(references(records, block), isValid, MAX_INVALID)) return null
  return {
    at: { phase: 'reference', block },
    cell: null,
    left_s: (blocks + 1 - block) * SWEEP_S,
    load: { driver: reference, ...REFERENCE },
  }
}

/** @param {OpinionPlan} plan @param {TrialRecord[]} records @param {number} block @param {any[]} notApplied @returns {Step | null} */
function sweepStep(plan, records, block, notApplied) {
  const step = nextStep(plan, sweepOf(records, block), notApplied)
  return step && { ...step, at: { ...step.at, block }, left_s: Number(step.left_s) + (plan.blocks - block) * SWEEP_S }
}

/** @param {TrialRecord[]} records @param {number} block */
const references = (records, block) => records.filter(({ at }) => at.phase === 'reference' && at.block === block)

/** @param {TrialRecord[]} records @param {number} block */
const sweepOf = (records, block) => records.filter(({ at }) => at.phase !== 'reference' && at.block === block)

/**
 * Compares each sweep's midpoint with the mean of the loops before and after it.
 * @param {OpinionPlan} plan @param {TrialRecord[]} records
 * @typedef {ReturnType<typeof analyse>} OpinionFindings
 */
function analyse(plan, records) {
  const loopOf = (/** @type {number} */ block) => references(records, block).findLast(isValid)
  const pairs = Array.from({ length: plan.blocks }, (_, i) => {
    const block = i + 1
    const { capacity } = capacityFound(plan, sweepOf(records, block))
    const loops = [block, block + 1].map((at) => loopOf(at)?.traffic)
    const loop_rps = loops.map((traffic) => traffic?.goodput_rps ?? Number.NaN)
    const loop_p99_ms = Math.max(...loops.map((traffic) => traffic?.latency_ms?.p99 ?? Number.NaN))
    const { low_rps, high_rps } = capacity ?? {}
    const ratio = low_rps && high_rps ? (low_rps + high_rps) / (loop_rps[0] + loop_rps[1]) : Number.NaN
    return { block, capacity, loop_rps, loop_p99_ms, ratio: Number.isNaN(ratio) ? null : ratio }
  })
  const known = pairs.flatMap(({ ratio }) => ratio ?? [])
  const missing = plan.blocks - known.length
  return {
    problem:
      missing > 0
        ? `${missing} of ${plan.blocks} sweeps lack a bound of their capacity, or a valid closed loop before or after`
        : null,
    reference: plan.reference,
    pairs,
    ratio: known.length === 0 ? null : median(known),
    kept: { pairs },
  }
}
