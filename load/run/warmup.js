/**
 * @import { Generator } from '../generators/drive.js'
 * @import { TrialPlan } from './trial.js'
 */

/**
 * V8 recompiles the generator's functions in the first phases of a process, for 20 to 40 ms each: what it learned in one phase does
 * not hold in the next. Postgres shares that core, so a trial run as the second phase begins with a burst; the fourth has none.
 */
const PHASES_OF_PACED = 3
/** A phase sends a whole number of requests, so three short phases would send more than requested. */
const LEAST_PER_PHASE = 100
/** Longest wait: a target that refuses everything has no backlog to serve. */
const MOST_LEFT_S = 3

/**
 * Warms up the generator and its target: without it, a trial would measure how they start.
 * @param {Pick<Generator, 'run'>} generator @param {Pick<TrialPlan, 'driver' | 'rate_rps' | 'warmup_s'>} plan
 * @returns {Promise<Warmup>}
 * @typedef {{ sent: number, completed: number, created: number, unanswered: number, goodput_rps: number }} Warmup created:
 *   201 answers, each of which is a row; unanswered: in flight at the end, or answered with 504; goodput_rps: of its last phase
 */
export async function warmUp(generator, { driver, rate_rps, warmup_s }) {
  const warmup = { sent: 0, completed: 0, created: 0, unanswered: 0, goodput_rps: 0 }
  if (warmup_s === 0) return warmup
  const isLong = driver === 'paced' && Number(rate_rps) * warmup_s >= PHASES_OF_PACED * LEAST_PER_PHASE
  const phases = isLong ? PHASES_OF_PACED : 1
  for (let i = 0; i < phases; i++) {
    const { sent, completed, ok, status, goodput_rps } = await generator.run(warmup_s / phases)
    warmup.sent += sent
    warmup.completed += completed
    warmup.created += status[201] ?? 0
    warmup.unanswered += sent - completed + (status[504] ?? 0)
    warmup.goodput_rps = goodput_rps
    // Each further phase would wait for its timeouts, too.
    if (ok === 0) break
  }
  return warmup
}

/**
 * Seconds that the target needs for the requests that a closed loop left in flight when its warm-up stopped; it would otherwise
 * serve them during the trial. The goodput sets the pace, since refused requests take no time.
 * @param {Pick<TrialPlan, 'loop' | 'timeout_s'>} plan @param {Pick<Warmup, 'sent' | 'completed' | 'goodput_rps'>} warmup
 */
export function leftOver_s({ loop, timeout_s }, { sent, completed, goodput_rps }) {
  const unanswered = sent - completed
  return loop === 'open' || unanswered <= 0 ? 0 : Math.min(timeout_s, MOST_LEFT_S, unanswered / goodput_rps)
}
