import { blocksFlag, durationFlag, oneOf, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { localPlan } from '../../../load/run/plan.js'
import { median } from '../../../load/verdict/ranks.js'
import { matrixVisits, nextTrial, trialsAt } from '../../stats/matrix.js'
import { ratios } from '../../stats/measures.js'
import { generatorShare, isFullShare } from '../../stats/sound.js'
import { keptSpread } from '../../stats/tables.js'
import { CONTENDERS, closeContenders, contenderOf, keepContender } from './contenders.js'
import { benchReport } from './report.js'
import { BUSY_RATE_RPS, FAR_LOW_RATE_RPS, LOW_RATE_RPS, TABLES } from './tables.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { Column } from './tables.js'
 * @import { Contender } from './contenders.js'
 * @import { Plan, Run, StepLoad, TrialRecord } from '../../../load/report/record.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { blocks: 8, duration: 1000, seed: 1, driver: 'autocannon' }
const QUICK = { blocks: 1, duration: 500 }
const NAMES = CONTENDERS.map(({ name }) => name)

/** A closed loop at saturation, open loops at a low and a high rate, and others at a half and twice the closed loop's rate. */
const KINDS = ['saturation', 'low', 'busy', 'half', 'over']
const OPEN_CONNECTIONS = 64

/** In lengths of the trial. A contender was idle for half a minute: it must reopen database connections, and its caches are cold. */
const WARMUP_SHARE = 1

/** Attempts per trial: a bench has few trials, and its ratios need all of them. */
const TRIES = 3

/** Measures the cost of an insert here, and in the same service with other libraries. @type {Experiment<BenchPlan, BenchFindings>} */
export const bench = {
  name: 'bench',
  about: 'what does an insert cost in this API, and with other frameworks?',
  details: 'All servers run at once and are loaded in turn, so the figures in a ratio are measured seconds apart.',
  flags: {
    blocks: blocksFlag('contender is measured', DEFAULTS.blocks),
    duration: durationFlag(`duration of each trial (default ${DEFAULTS.duration / 1000}s)`),
    driver: {
      value: 'NAME',
      about: `for closed loops: autocannon (default), or wrk at half the CPU cost (apt-get install wrk)`,
      ...oneOf(['autocannon', 'wrk']),
    },
    quick: switchFlag('one block of trials of 500ms: about two minutes'),
    only: { value: 'A,B,C', about: `some of ${NAMES.join(', ')}`, ...someOf(NAMES) },
    seed: seedFlag(`seed of the order and the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run bench                     about 21 minutes
  npm run bench -- --quick
  npm run bench -- --only no-op,batched,fastify --blocks 3`,
  plan(flags) {
    const given = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
    const { duration: duration_ms, seed, only = NAMES, driver, blocks } = given
    const contenders = NAMES.filter((name) => only.includes(name))
    const plan = localPlan({ seed, duration_s: duration_ms / 1000 })
    return { ...plan, closed_driver: driver, repeats: blocks, contenders }
  },
  async prepare(plan) {
    DRIVERS[plan.closed_driver].check?.({ url: 'http://127.0.0.1', method: 'POST' })
  },
  design,
  open: (cell, place, plan) =>
    keepContender(contenderOf(cell?.contender), place, { ...plan, driver: plan.closed_driver }),
  close: closeContenders,
  analyse,
  report: benchReport,
}

/** @typedef {Plan & { closed_driver: string, repeats: number, contenders: string[] }} BenchPlan closed_driver: for closed loops */

/**
 * Blocks of passes. A pass puts one kind of load on every contender, so that compared figures are taken seconds apart. Pure.
 * @param {BenchPlan} plan @param {TrialRecord[]} records @param {any[]} notApplied
 */
export function design(plan, records, notApplied) {
  const { repeats, contenders, mix, duration_s } = plan
  const units = contenders.map((contender) => ({ cell: { contender } }))
  const visits = matrixVisits({ units, blocks: repeats, seed: mix.seed })
  const visit_s = (1 + WARMUP_SHARE) * duration_s
  /** @type {Matrix['loadOf']} */
  const loadOf = ({ cell }, kind, own) => {
    const contender = contenderOf(cell.contender)
    if (kind === 'saturation') return closedLoop(contender, plan.closed_driver, duration_s)
    const rate_rps = rateOf(contender, String(kind), own('saturation').at(-1)?.traffic.goodput_rps ?? 0)
    const { clients: connections = OPEN_CONNECTIONS } = contender
    return { driver: 'paced', loop: 'open', rate_rps, connections, warmup_s: WARMUP_SHARE * duration_s, duration_s }
  }
  const passes = visits.filter(({ at }) => at.position === 0).flatMap(({ at }) => KINDS.map((kind) => [at.block, kind]))
  const loaded = passes.map(([block, kind]) => ({
    kinds: [String(kind)],
    visits: visits.filter(({ at, cell }) => {
      return at.block === block && contenderOf(cell.contender).loads.includes(String(kind))
    }),
  }))
  for (const [i, pass] of loaded.entries()) {
    const later_s = loaded.slice(i + 1).flatMap(({ visits }) => visits).length * visit_s
    const step = nextTrial({ ...pass, visit_s, later_s, tries: TRIES, loadOf }, records, notApplied)
    if (step) return step
  }
  return null
}

/** @param {Contender} contender @param {string} usual the driver for a service @param {number} length_s @returns {StepLoad} */
function closedLoop({ name, kind, connections }, usual, length_s) {
  const isDirect = kind === 'direct'
  // pgbench takes whole seconds.
  const duration_s = isDirect ? Math.ceil(length_s) : length_s
  const driver = isDirect ? name : usual
  const warmup_s = WARMUP_SHARE * duration_s
  return { driver, loop: 'closed', rate_rps: null, connections, warmup_s, duration_s }
}

/** The rate of an open loop. @param {Contender} contender @param {string} kind @param {number} took_rps the closed loop's rate in this visit */
function rateOf(contender, kind, took_rps) {
  if (kind === 'low') return contender.kind === 'far' ? FAR_LOW_RATE_RPS : LOW_RATE_RPS
  return kind === 'busy' ? BUSY_RATE_RPS : Math.max(1, Math.round((kind === 'over' ? 2 : 0.5) * took_rps))
}

/**
 * Values of all blocks, by contender, table and head of the column. Contenders without a service that cannot run here are left out.
 * @param {BenchPlan} plan @param {TrialRecord[]} records @param {Pick<Run, 'not_applied'>} run
 * @typedef {ReturnType<typeof analyse>} BenchFindings
 * @typedef {Pick<Contender, 'name' | 'kind' | 'about'> & { is_generator_full: boolean, values: Record<string, Record<string, number[]>> }} Server
 */
export function analyse(plan, records, { not_applied = [] }) {
  const { repeats, contenders } = plan
  const trialsOf = (/** @type {string} */ contender, where = {}) => {
    return trialsAt(records, where).filter(({ cell }) => cell?.contender === contender)
  }
  const valuesOf = (/** @type {string} */ contender, /** @type {Column} */ { kind, by, value }) => {
    const own = trialsOf(contender, { kind })
    return by ? ratios(own, trialsOf(by, { kind }), value) : own.map(value)
  }
  const refused = not_applied.map(({ cell }) => cell.contender)
  const expected = contenders.filter((name) => contenderOf(name).kind !== 'direct' || !refused.includes(name))
  const wanted = repeats * expected.length
  const missing = expected.reduce((sum, name) => sum + repeats - trialsOf(name, { kind: 'saturation' }).length, 0)
  const servers = CONTENDERS.filter(({ name }) => trialsOf(name).length > 0).map(({ name, kind, about }) => ({
    ...{ name, kind, about },
    is_generator_full: isFullShare(median(trialsOf(name, { kind: 'saturation' }).map(generatorShare))),
    values: Object.fromEntries(
      Object.entries(TABLES).map(([table, { columns }]) => {
        return [table, Object.fromEntries(columns.map((column) => [column.head, valuesOf(name, column)]))]
      }),
    ),
  }))
  return {
    problem: missing > 0 || wanted === 0 ? `${missing} of ${wanted} closed loops had no valid trial` : null,
    kept: { servers: servers.map(keptServer) },
    repeats,
    closed_driver: plan.closed_driver,
    servers,
  }
}

/** A server's closed loop as run.json keeps it. is_lower_bound: the generator was the limit. @param {Server} server */
function keptServer({ name, kind, values: { closed }, is_generator_full }) {
  const [inserts_rps, cpu_us_each] = ['inserts/s', 'CPU us each'].map((head) => keptSpread(closed[head]))
  return { name, kind, inserts_rps, is_lower_bound: is_generator_full, cpu_us_each }
}
