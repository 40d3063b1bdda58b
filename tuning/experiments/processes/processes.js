import { COLD_WARMUP_S } from '../../../load/capacity/ladder.js'
import { UsageError } from '../../../load/command/errors.js'
import { durationFlag, numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { NOT_PINNED } from '../../../load/run/site.js'
import { planCores } from '../../../load/system/machine.js'
import { findHaproxy, HAPROXY_FLAG, NO_HAPROXY } from '../../knobs/haproxy.js'
import { durationOf, nextTrial } from '../../stats/matrix.js'
import { matrixOf } from './design.js'
import { openSetup } from './open.js'
import { analyse, report } from './report.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @typedef {ReturnType<typeof planOf>} ProcessesPlan
 */

/** A 95 % interval needs at least six blocks. */
const DEFAULTS = { blocks: 6, warmup_s: COLD_WARMUP_S, duration: 3000, seed: 1 }
const QUICK = { blocks: 1, warmup_s: 0.5, duration: 1000 }
const CONNECTIONS = 64

/** How much does one more API process bring? @type {Experiment<ProcessesPlan, ReturnType<typeof analyse>>} */
export const processes = {
  name: 'processes',
  about: 'how much does one more API process bring, behind HAProxy?',
  details:
    'Compares one process on its own with one, two, and one for each core but one behind HAProxy (apt-get install haproxy).',
  flags: {
    blocks: numberFlag(`passes over the set-ups (default ${DEFAULTS.blocks}, the fewest for an interval)`, 1, 1000),
    duration: durationFlag(`duration of each trial (default ${DEFAULTS.duration / 1000}s)`),
    haproxy: HAPROXY_FLAG,
    quick: switchFlag('one block of short trials: half a minute, and no interval'),
    seed: seedFlag(`seed of the orders and users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run processes                                 about 3 minutes
  npm run processes -- --quick                      half a minute
  INSERT_MODE=single npm run processes -- --duration 10s`,
  plan: planOf,
  size: (plan) => `${matrixOf(plan).visits.length} trials: about ${Math.ceil(durationOf(matrixOf(plan)) / 60)} min`,
  design: (plan, records, notApplied) => nextTrial(matrixOf(plan), records, notApplied),
  open: openSetup,
  pinning: ({ cores }) => {
    if (!cores) return NOT_PINNED
    const { api, others } = cores
    return `The API processes were spread over the cores ${api},${others}, the first on core ${api}; HAProxy, the generator and the lab ran on core ${others}, and so did Postgres if this run started it.`
  },
  analyse,
  report,
}

/** @param {Record<string, any>} flags @throws {UsageError} without HAProxy */
function planOf(flags) {
  const { blocks, warmup_s, duration, seed } = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
  const haproxy = findHaproxy(flags.haproxy)
  if (!haproxy) throw new UsageError(`processes: ${NO_HAPROXY}`)
  const cores = planCores()
  const most = cores ? cores.others.split(',').length : 1
  return {
    ...localPlan({ seed, duration_s: duration / 1000 }),
    ...{ warmup_s, connections: [CONNECTIONS], blocks, haproxy, cores },
    processes: [...new Set([1, 2, most])].sort((a, b) => a - b),
  }
}
