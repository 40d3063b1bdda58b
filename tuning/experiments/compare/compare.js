import { COLD_WARMUP_S } from '../../../load/capacity/ladder.js'
import { UsageError } from '../../../load/command/errors.js'
import { durationFlag, numberFlag, seedFlag, switchFlag, wholeNumbers } from '../../../load/command/flags.js'
import { MIX_FLAGS, mixOf } from '../../../load/generators/mix-flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { openSide, SIDE, SIDE_HOST_FLAGS, sideFlag, sidesOf } from '../../knobs/sides.js'
import { design, durationOf } from './design.js'
import { findingsOf } from './findings.js'
import { compareReport } from './report.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { ComparePlan } from './design.js'
 * @import { CompareFindings } from './findings.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

const DEFAULTS = { concurrency: [1, 10, 100], 'per-worker-rps': 50, seed: 1 }

/** Eight blocks suffice for intervals that together miss in one run of twenty (at the default concurrency); two are spare. */
const USUAL = { blocks: 10, duration: 2000, ladders: 10, rung_s: 1 }
const QUICK = { blocks: 8, duration: 500, ladders: 1, rung_s: 0.5 }

/** Which of two targets is faster, and is the difference real? @type {Experiment<ComparePlan, CompareFindings>} */
export const compare = {
  name: 'compare',
  about: 'which of two targets is faster, and is the difference real?',
  flags: {
    a: { value: 'URL|FILE', about: SIDE, ...sideFlag('a') },
    b: { value: 'URL|FILE', about: 'the other one', ...sideFlag('b') },
    ...SIDE_HOST_FLAGS,
    concurrency: {
      value: 'A,B,C',
      about: `workers of the closed loops (default ${DEFAULTS.concurrency})`,
      ...wholeNumbers(1, 1000),
    },
    'per-worker-rps': numberFlag(
      `cap on each worker's rate in the search for the maximum (default ${DEFAULTS['per-worker-rps']})`,
      1,
      100_000,
    ),
    blocks: numberFlag(`passes over both sides (default ${USUAL.blocks})`, 1, 1000),
    duration: durationFlag(`duration of each closed loop (default ${USUAL.duration / 1000}s)`),
    quick: switchFlag('shorter loops, the maximum once, and no proof: under two minutes'),
    'no-proof': switchFlag(
      'skip the proof of the limit of each side that Redline starts (saves one to two minutes a side)',
    ),
    ...MIX_FLAGS,
    seed: seedFlag(`seed of the order and the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run compare -- --a http://127.0.0.1:8080/user --b http://127.0.0.1:8081/user   about 10 minutes
  echo INSERT_MODE=single > a.env; echo INSERT_MODE=batched > b.env
  npm run compare -- --a a.env --b b.env --quick
  npm run compare -- --ssh-a ubuntu@one --ssh-b ubuntu@other --database-url 'postgres://…'   two machines
  NODE_EXTRA_CA_CERTS=ca.pem npm run compare -- --a https://a.test/user --b https://b.test/user`,
  plan: planOf,
  size: (/** @type {ComparePlan} */ plan) => `${plan.blocks} blocks: about ${Math.ceil(durationOf(plan) / 60)} min`,
  design,
  open: (cell, place, plan) => {
    const { side, ...changes } = /** @type {Cell} */ (cell)
    return openSide(plan.sides[side], place, changes)
  },
  analyse: findingsOf,
  report: compareReport,
}

/** @param {Record<string, any>} flags @returns {ComparePlan} */
function planOf(flags) {
  const { a, b } = sidesOf(flags)
  if (!a || !b) {
    const name = a ? 'b' : 'a'
    throw new UsageError(`--${name}: expected ${SIDE}, or --ssh-${name} with a host, got nothing`)
  }
  const usual = flags.quick ? QUICK : USUAL
  const { concurrency, 'per-worker-rps': per_worker_rps, seed, blocks, duration } = { ...DEFAULTS, ...usual, ...flags }
  return {
    ...localPlan({ seed, duration_s: duration / 1000 }),
    mix: mixOf({ ...flags, seed }),
    // A database is needed only if a side is ours.
    url: a.url && b.url ? a.url : null,
    sides: { a, b },
    concurrency,
    per_worker_rps,
    blocks,
    ladders: Math.min(blocks, usual.ladders),
    proves: !flags.quick && !flags['no-proof'],
    rung_s: usual.rung_s,
    ...(!flags.quick && { cold_warmup_s: COLD_WARMUP_S }),
  }
}
