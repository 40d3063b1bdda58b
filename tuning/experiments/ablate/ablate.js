import { UsageError } from '../../../load/command/errors.js'
import { durationFlag, numberFlag, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { SSH_FLAGS, sshPlanOf } from '../../../load/system/ssh/plan.js'
import { analyse, report } from './report.js'
import { closeService, openVariant } from './service.js'
import { STAGE_NAMES } from './stages.js'
import { CONSUMERS, durationOf, nextStep } from './steps.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { AblatePlan } from './steps.js'
 */

const DEFAULTS = {
  ...{ rate: 3000, seed: 1, stages: STAGE_NAMES, consumers: Object.keys(CONSUMERS) },
  slow: /** @type {Record<string, number>} */ ({}),
}

/** Ten blocks suffice for intervals that hold together, with all stages and two closed loops; two are spare. */
const USUAL = { rounds: 300, blocks: 12, duration: 1000 }
/** A block takes half a minute even so: one shows the ratios, without intervals. */
const QUICK = { rounds: 60, blocks: 1, duration: 200 }
/** Upper limit, since computing an interval takes all pairs of rounds. */
const MOST_ROUNDS = 1000
const MAX_SLOW_US = 100_000

/** Stages that several requests share, by INSERT_MODE: a wait in them belongs to no single request. @type {Record<string, string[]>} */
const SHARED = { batched: ['pool', 'commit', 'database'], pipelined: ['pool'] }

const FLAGS = {
  stages: { value: 'A,B', about: `stages to remove (default all: ${STAGE_NAMES.join(', ')})`, ...someOf(STAGE_NAMES) },
  consumers: {
    value: 'A,B',
    about: `generators: the first measures the budget, closed loops the throughput (default ${DEFAULTS.consumers.join(',')})`,
    ...someOf(DEFAULTS.consumers),
  },
  rate: numberFlag(`requests/s of the open loop, well below the capacity (default ${DEFAULTS.rate})`, 1, 100_000),
  slow: {
    value: 'STAGE=TIME',
    about: 'add CPU time to a stage, such as validate=20us, to check that it is found',
    parse: planted,
    expected: `a stage (${STAGE_NAMES.join(', ')}) and a time, such as validate=20us`,
  },
  turns: numberFlag(`turns of each variant, for the budget (default about ${USUAL.rounds})`, 1, MOST_ROUNDS),
  blocks: numberFlag(`passes of the closed loops over all variants (default ${USUAL.blocks})`, 1, 1000),
  duration: durationFlag(`duration of each trial of the closed loops (default ${USUAL.duration / 1000}s)`),
  'no-proof': switchFlag('skip the proof, from which the gain of each removal is forecast (saves a minute)'),
  quick: switchFlag(
    'fewer turns, each closed loop once (so that no throughput is settled), and no proof: under two minutes',
  ),
  seed: seedFlag(`seed of the order and the users (default ${DEFAULTS.seed})`),
  ...SSH_FLAGS,
}

/** Which stage of the work is the bottleneck? @type {Experiment<AblatePlan, ReturnType<typeof analyse>>} */
export const ablate = {
  name: 'ablate',
  about: 'which stage of the work is the bottleneck?',
  details: 'The work is that of POST /user.',
  flags: FLAGS,
  examples: `  npm run ablate                    about 14 minutes
  npm run ablate -- --quick         under two minutes
  npm run ablate -- --stages database,commit --consumers autocannon,client
  npm run ablate -- --stages validate --consumers autocannon --slow validate=20us
  INSERT_MODE=batched npm run ablate
  npm run ablate -- --quick --ssh ubuntu@host --database-url 'postgres://…'`,
  plan: planOf,
  size: (plan) => `${plan.rounds} rounds of turns: about ${Math.ceil(durationOf(plan) / 60)} min in all`,
  design: nextStep,
  open: (cell, place, plan) => openVariant(/** @type {any} */ (cell), place, plan),
  close: closeService,
  analyse,
  report,
}

/** @param {Record<string, any>} given flags @param {NodeJS.ProcessEnv} settings of the API */
export function planOf(given, { INSERT_MODE: insert_mode } = {}) {
  const sizes = given.quick ? QUICK : USUAL
  const { rate, seed, stages, slow, consumers, rounds, turns, blocks, duration } =
    /** @type {typeof DEFAULTS & typeof USUAL & { turns?: number }} */ ({ ...DEFAULTS, ...sizes, ...given })
  const [stage] = Object.keys(slow)
  if (stage && !stages.includes(stage)) throw new UsageError(`--slow: expected one of --stages, got ${stage}`)
  if (SHARED[insert_mode ?? '']?.includes(stage)) {
    throw new UsageError(`--slow: expected a stage that requests do not share with ${insert_mode}, got ${stage}`)
  }
  return {
    ...localPlan({ seed, duration_s: duration / 1000 }),
    ssh: sshPlanOf(given),
    stages: STAGE_NAMES.filter((stage) => stages.includes(stage)),
    slow_us: slow,
    ...(insert_mode && { insert_mode }),
    consumers,
    rate_rps: rate,
    rounds: turns ?? rounds,
    blocks,
    ...(given.quick || given['no-proof'] ? {} : { proves: true }),
  }
}

/** @param {string} text @returns {Record<string, number> | undefined} */
function planted(text) {
  const [, stage, number] = /^([\w-]+)=(\d+(?:\.\d+)?)us$/.exec(text) ?? []
  const us = Number(number)
  return STAGE_NAMES.includes(stage) && us > 0 && us <= MAX_SLOW_US ? { [stage]: us } : undefined
}
