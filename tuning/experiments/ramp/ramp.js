import { availableParallelism } from 'node:os'
import { COLD_WARMUP_S } from '../../../load/capacity/ladder.js'
import { UsageError } from '../../../load/command/errors.js'
import { durationFlag, numberFlag, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { HOSTS_FLAGS, originOf } from '../../../load/generators/hosts/flags.js'
import { MIX_FLAGS, mixOf } from '../../../load/generators/mix-flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { livePlan } from '../../../load/run/plan-secrets.js'
import { expandCores, planCores } from '../../../load/system/machine.js'
import { startsHere } from '../../../load/system/ssh/plan.js'
import { LOCAL_SIDE, openSide, SIDE, SIDE_HOST_FLAGS, sideFlag, sidesOf } from '../../knobs/sides.js'
import { withBackground } from './background.js'
import { PRICE, STORAGE } from './cost.js'
import { design, durationOf } from './design.js'
import { findingsOf } from './findings.js'
import { rampReport } from './report.js'

/**
 * @import { Driver } from '../../../load/generators/drivers/index.js'
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { RampPlan } from './design.js'
 * @import { RampFindings } from './findings.js'
 */

/** Names of the drivers that load in a closed loop. */
const CLOSED = Object.keys(DRIVERS).filter((name) => DRIVERS[name].loop === 'closed')

/** A few hundred workers reach this ceiling here. */
const DEFAULTS = { 'latency-ceiling': 30, 'max-workers': 1000, seed: 1, background: 0 }

/** An interval needs six blocks. A rung lasts a multiple of the ceiling, so that its start weighs little. */
const USUAL = { blocks: 8, growth: 2, least_s: 2, ceilings: 10, warmup_s: 0.5 }
const QUICK = { blocks: 6, growth: 4, least_s: 0.6, ceilings: 2, warmup_s: 0.3 }
const QUICK_S = 80

const CLOSE = 1.5
const LEAST_TIMEOUT_S = 10

/** A share of successes below this counts as the ceiling; a single failure in a hundred does not. */
const SUCCESS_RATIO = 0.99

/** How many clients until latency passes a ceiling, at what cost? @type {Experiment<RampPlan, RampFindings>} */
export const ramp = {
  name: 'ramp',
  about: 'how many clients until the latency passes a ceiling, and at what cost?',
  flags: {
    a: { value: 'URL|FILE', about: `${SIDE} (default: the local API)`, ...sideFlag('a') },
    b: { value: 'URL|FILE', about: 'a second one, to see how many A match one B', ...sideFlag('b') },
    ...SIDE_HOST_FLAGS,
    'latency-ceiling': durationFlag(`ceiling of the mean latency (default ${DEFAULTS['latency-ceiling']}ms)`),
    'max-workers': numberFlag(`maximum number of workers (default ${DEFAULTS['max-workers']})`, 1, 20_000),
    driver: {
      value: 'A,B',
      about: `closed loops: ${CLOSED.join(', ')}; the first one answers, the others check it`,
      ...someOf(CLOSED),
    },
    'cross-check': switchFlag('add a second driver (wrk), and report whether the two agree'),
    'price-a': { value: 'N/h', about: 'price of one A per hour, in any currency', ...PRICE },
    'price-b': { value: 'N/h', about: 'price of one B', ...PRICE },
    'storage-a': { value: 'GBxPRICE', about: 'storage of one A: gigabytes x monthly price per GB', ...STORAGE },
    'storage-b': { value: 'GBxPRICE', about: 'storage of one B', ...STORAGE },
    each: switchFlag('also ramp each request of the mix on its own, to the same ceiling (needs --mix)'),
    background: { ...numberFlag('background writes per second (default none)', 1, 100_000), value: 'RATE' },
    blocks: numberFlag(`passes over all series (default ${USUAL.blocks})`, 1, 1000),
    duration: durationFlag(`duration of each rung (default ${USUAL.ceilings} ceilings, at least ${USUAL.least_s}s)`),
    'load-hosts': {
      ...HOSTS_FLAGS['load-hosts'],
      about: 'send the load from these hosts over ssh: workers of locust (--driver locust)',
    },
    quick: switchFlag('steeper climbs and shorter rungs: under two minutes'),
    ...MIX_FLAGS,
    seed: seedFlag(`seed of the order and the requests (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run ramp                      about 3 minutes
  npm run ramp -- --quick           under two minutes
  npm run ramp -- --a http://127.0.0.1:8080/user --b http://127.0.0.1:8081/user --latency-ceiling 1000ms
  npm run ramp -- --a a.env --b b.env --price-a 0.192/h --price-b 0.312/h --storage-a 1100GBx0.10
  npm run ramp -- --ssh-a ubuntu@small --ssh-b ubuntu@large --database-url 'postgres://…'   two machines
  npm run ramp -- --cross-check --driver autocannon,wrk
  npm run ramp -- --a http://10.0.0.5:3000/user --driver locust --load-hosts ubuntu@10.0.0.6,ubuntu@10.0.0.7`,
  plan: planOf,
  prepare: async (plan) => ({ drivers: await versionsOf(plan) }),
  size: (/** @type {RampPlan} */ plan) => `${plan.blocks} blocks: about ${Math.ceil(durationOf(plan) / 60)} min`,
  design,
  async open(cell, place, plan) {
    const { side } = /** @type {{ side: string }} */ (cell)
    const target = await openSide(plan.sides[side], place)
    return plan.background_rps === 0 ? target : withBackground(target, plan)
  },
  analyse: findingsOf,
  report: rampReport,
}

/** @param {Record<string, any>} flags @returns {RampPlan} @throws {UsageError} */
function planOf({ without, ...flags }) {
  const { a = LOCAL_SIDE, b } = sidesOf(flags)
  if (flags['price-b'] && !b) throw new UsageError('--price-b: requires --b or --ssh-b')
  const prices = pricesOf(flags)
  const usual = flags.quick ? QUICK : USUAL
  const given = { ...DEFAULTS, blocks: usual.blocks, ...flags }
  const { seed, blocks, 'latency-ceiling': ceiling_ms, 'max-workers': most_workers } = given
  const ceiling_s = ceiling_ms / 1000
  const duration_s = flags.duration ? flags.duration / 1000 : Math.max(usual.least_s, usual.ceilings * ceiling_s)
  const base = localPlan({ seed, duration_s, timeout_s: Math.max(LEAST_TIMEOUT_S, 5 * ceiling_s) })
  /** @type {Record<string, Side>} */
  const sides = { a, ...(b && { b }) }
  const drivers = chosenDrivers(flags, Object.values(livePlan({ ...base, sides }).sides))
  // A database is needed only if a side is ours.
  const url = Object.values(sides).some((side) => side.url === null) ? null : a.url
  // The generator gets the cores that the API leaves free, or all of them if no side is started here.
  const cores = startsHere({ url, sides }) ? planCores() : null
  const reached = Object.values(sides).map((side) => side.url ?? side.ssh?.host ?? null)
  const ssh = flags['ssh-a'] ?? flags['ssh-b']
  const origin = { byHosts: ['locust'], target: 'a URL or a host (--ssh-a, --ssh-b) for each side' }
  const plan = {
    ...base,
    mix: mixOf(given),
    url,
    driver: drivers[0],
    connections: [most_workers],
    slo: { ...base.slo, success_ratio: SUCCESS_RATIO },
    warmup_s: usual.warmup_s,
    ...(!flags.quick && { cold_warmup_s: COLD_WARMUP_S }),
    sides,
    drivers,
    left_out: without ? without.join(', ') : null,
    without: without ? (mixOf({ ...given, without }).entries ?? null) : null,
    ...(flags.each && { each: true }),
    ceiling_ms,
    most_workers,
    growth: usual.growth,
    close: CLOSE,
    generator_cores: cores ? expandCores(cores.others).length : availableParallelism(),
    blocks,
    background_rps: given.background,
    prices,
    ...originOf({ ...flags, ssh }, { drivers, connections: most_workers, urls: reached }, origin),
  }
  if (flags.each && (plan.mix.entries ?? []).length < 2)
    throw new UsageError('--each: requires --mix with several requests')
  if (flags.quick && !flags.blocks) while (plan.blocks > 1 && durationOf(plan) > QUICK_S) plan.blocks--
  return plan
}

/** @param {Record<string, any>} flags @returns {RampPlan['prices']} @throws {UsageError} */
function pricesOf(flags) {
  const prices = ['a', 'b'].flatMap((name) => {
    const [per_hour, storage] = [flags[`price-${name}`], flags[`storage-${name}`]]
    if (storage && !per_hour) throw new UsageError(`--storage-${name}: requires --price-${name}`)
    return per_hour ? [[name, { per_hour, storage_gb: 0, per_gb_month: 0, ...storage }]] : []
  })
  return Object.fromEntries(prices)
}

/** The requested drivers; the first one answers. @param {Record<string, any>} given flags @param {Side[]} sides @returns {string[]} */
export function chosenDrivers(given, sides) {
  const isSecure = sides.some(({ url }) => url?.startsWith('https:'))
  const asked = given.driver ?? [isSecure ? 'workers' : 'autocannon']
  if (!given['cross-check'] || asked.length > 1) return asked
  return [...asked, asked[0] === 'wrk' ? 'autocannon' : 'wrk']
}

/**
 * The versions of a plan's drivers, by name.
 * @param {Pick<RampPlan, 'drivers' | 'sides' | 'mix'>} plan @param {Record<string, Driver>} [all]
 * @returns {Promise<Record<string, string>>} @throws {UsageError} for a driver that cannot load a side, or whose tool is not installed
 */
export async function versionsOf({ drivers, sides, mix }, all = DRIVERS) {
  const versions = drivers.map(async (name) => {
    for (const { url } of Object.values(sides)) all[name].check?.({ url: url ?? 'http://127.0.0.1/', ...mix })
    return [name, await all[name].version()]
  })
  return Object.fromEntries(await Promise.all(versions))
}
