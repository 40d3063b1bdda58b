import { refuseUnnamed } from '../../../load/run/site.js'
import { coresFor, openStrategy, pinningText } from './open.js'
import { FLAGS, planOf } from './plan.js'
import { analyse, report } from './report.js'
import { simulateAll } from './simulation.js'
import { durationOf, nextStep } from './steps.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Io } from '../../../load/run/runner.js'
 * @import { BalancePlan } from './plan.js'
 */

/** Does adaptive balancing beat round robin over uneven endpoints? @type {Experiment<BalancePlan, ReturnType<typeof analyse>>} */
export const balance = {
  name: 'balance',
  about: 'does adaptive balancing beat round robin over uneven endpoints?',
  details: 'And does HAProxy beat both?',
  flags: FLAGS,
  examples: `  npm run balance                                about 18 minutes
  npm run balance -- --quick --slow 2x250ms
  npm run balance -- --only simulation --factor 0.6`,
  plan: planOf,
  size: (plan) => `${plan.parts.join(', ')}: about ${Math.ceil(durationOf(plan) / 60)} min`,
  prepare,
  design: nextStep,
  open: openStrategy,
  pinning: (plan) => pinningText(coresFor(plan), plan.parts.includes('processes')),
  analyse,
  report,
  older: {
    at: (experiment) => {
      const [part, block, position] = experiment.split('/')
      return { phase: 'block', part, block: Number(block), position: Number(position) }
    },
    cell: (name) => {
      const [part, strategy] = name.split('/')
      return { part, strategy }
    },
  },
}

/** @param {BalancePlan} plan @param {{ run: any }} begun @param {Io} io */
async function prepare(plan, { run }, { signal, progress, environment }) {
  // Refused before the simulation, which takes a while.
  if (!plan.url) refuseUnnamed(environment)
  if (plan.haproxy_missing) progress.note(plan.haproxy_missing)
  coresFor(plan)
  if (run.simulation || !plan.parts.includes('simulation')) return
  progress.note('simulating …')
  return { simulation: await simulateAll(plan, signal) }
}
