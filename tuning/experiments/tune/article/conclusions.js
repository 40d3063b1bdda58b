import { breakdown, count, decimal, milliseconds, percent, wholePercent } from '../../../../load/report/format.js'
import { busyShare } from '../../../../load/verdict/ledger.js'
import { median } from '../../../../load/verdict/ranks.js'
import { totalsOf } from '../../../stats/design.js'
import { byBlock, excessOf, pairedRatio, ratioText, verdictOf } from '../../../stats/effects.js'
import { goodputOf, successOf } from '../../../stats/measures.js'

/**
 * @import { Claim, Verdict } from '../../../stats/effects.js'
 * @import { Generator } from './article.js'
 * @import { TrialRecord } from '../../../../load/report/record.js'
 */

/** Result without a trial. */
const NOTHING = { verdict: /** @type {Verdict} */ ('not measured'), evidence: [] }

/** A core that is less busy than this is idle. */
const IDLE_RATIO = 0.5

/** Rows of the published table, by number. */
export const OVERLOADS = [3, 4, 5, 6, 7]
const CLAIMED_CAPACITY = 8
/** Rows whose services are set alike, and get their core the most and the fewest times per request: at the lowest load and in overload. */
const CALM = 1
const BUSIEST = 5

/** Names of the article's generator and of ours. @type {Record<Generator, string>} */
const SENDERS = { 'vegeta-unbounded': "vegeta's defaults", paced: 'bounded generator' }

/** Measures, each with its generator. @satisfies {Record<string, [string, Generator, ValueOf]>} @typedef {(record: TrialRecord) => number} ValueOf */
const MEASURES = {
  success: ['success ratio', 'vegeta-unbounded', successOf],
  boundedSuccess: ['success ratio', 'paced', successOf],
  boundedGoodput: ['goodput', 'paced', goodputOf],
}

/**
 * Comparisons of two rows, with what is claimed of them. "The same" goodput lies within 0.80–1.25x, as in the playbook's claims. The first
 * measure decides; the others are shown as further evidence. The deciding measure always comes from the bounded generator: if vegeta
 * collapses at its defaults, its success ratio describes vegeta, not the service's settings.
 * @typedef {{ published: string, by: string, rows: [number, number], claim: Claim, measures: (keyof typeof MEASURES)[] }} Comparison
 */

/**
 * Tests the article's conclusions, and further ones that its table suggests, on the trials of this run. Pure.
 * @param {Comparison[]} comparisons as published @param {TrialsOf} trialsOf
 * @param {TrialRecord[][]} bySockets trials with fewer open sockets, and with more
 * @typedef {(row: number, generator: Generator) => TrialRecord[]} TrialsOf row: its number in the published table
 */
export function conclusionsOf(comparisons, trialsOf, bySockets) {
  const [timeout, served, files, ...others] = comparisons.map((one) => compared(one, trialsOf))
  timeout.evidence.push(refusedText(trialsOf))
  return [noFailures(trialsOf), timeout, served, files, switching(bySockets, trialsOf), ...others, codeZero(trialsOf)]
}

/** Number of times that the service got its core, per success. @param {TrialRecord} record */
export function switchesOf({ probes, traffic }) {
  return Number(probes.api.context_switches) / traffic.ok
}

/**
 * Switches are a cause only if they are more, if the goodput is lower, and if their price explains it. An upper bound of the price:
 * at a low load, the service gets its core more often per request, and a request costs more CPU time, also because less of it is done
 * at once. If all of that were the price of switches, and the service's core were the limit, then the goodput would fall by the CPU
 * time that the additional switches add to a request.
 * @param {TrialRecord[][]} bySockets @param {TrialsOf} trialsOf
 */
function switching([few, many], trialsOf) {
  const claim = { published: 'The results are worse because of context switching', by: 'the article' }
  if (few.length === 0 || many.length === 0) return { ...claim, ...NOTHING }
  const ratioOf = (/** @type {ValueOf} */ value) => pairedRatio(byBlock(few, value), byBlock(many, value))
  const switches = ratioOf(switchesOf)
  const goodput = ratioOf(goodputOf)
  const prices_us = pricesOf(trialsOf(CALM, 'paced'), trialsOf(BUSIEST, 'paced'))
  const more = excessOf(byBlock(many, switchesOf), byBlock(few, switchesOf))
  const without = byBlock(few, cpuOf)
  const added = [...without].map(([block, cpu_us]) => {
    return /** @type {const} */ ([block, cpu_us + Number(prices_us.get(block)) * Number(more.get(block))])
  })
  const cost = pairedRatio(new Map(added), without)
  const price = `a switch costs at most ${decimal(median(prices_us.values()), 0)} us of CPU (as if nothing else made a request dearer in row ${CALM} than in row ${BUSIEST}, bounded generator), so the additional ones leave at least ${ratioText(cost)} of the goodput, even if the service's core is the limit; it was ${wholePercent(median(many.map(coreOf)))} busy`
  return {
    ...claim,
    verdict: allOf(
      verdictOf({ expect: 'more', least_ratio: 1.1 }, switches),
      verdictOf({ expect: 'less', least_ratio: 1.1 }, goodput),
      verdictOf({ expect: 'less', least_ratio: 1.1 }, cost),
    ),
    evidence: [
      `more open sockets relative to fewer: context switches per request ${ratioText(switches)}, goodput ${ratioText(goodput)}`,
      ...(cost.pairs > 0 ? [price] : []),
    ],
  }
}

/** Upper bounds of the CPU time (us) per switch, by block; NaN where the calmer service does not switch more. @param {TrialRecord[]} calm @param {TrialRecord[]} busiest */
function pricesOf(calm, busiest) {
  const [more, dearer_us] = [switchesOf, cpuOf].map((value) => excessOf(byBlock(calm, value), byBlock(busiest, value)))
  return new Map(
    [...more].map(([block, switches]) => [block, switches > 0 ? Number(dearer_us.get(block)) / switches : Number.NaN]),
  )
}

/** CPU time (us) of the service per request. @param {TrialRecord} record */
function cpuOf({ probes }) {
  return Number(probes.api.cpu_us_per_request)
}

/** Utilization of the service's core. @param {TrialRecord} record */
function coreOf({ probes, target }) {
  return busyShare(probes.kernel, target.cores) ?? Number.NaN
}

/** A claim of several parts holds if all do, and falls with any. @param {Verdict[]} parts @returns {Verdict} */
function allOf(...parts) {
  if (parts.includes('refuted')) return 'refuted'
  return parts.every((part) => part === 'reproduced') ? 'reproduced' : 'undecided'
}

/**
 * Says that the service idled while the generator was the limit, as the article's figures suggest; null if it did not.
 * @param {TrialRecord[]} trials by the generator with its defaults @param {TrialRecord[]} bounded those of the overloads by the bounded generator
 * @param {{ cpu_ratio: number, memory_ratio: number }} published
 */
export function idleText(trials, bounded, { cpu_ratio, memory_ratio }) {
  const broken = trials.filter(({ outcome, limit }) => {
    return outcome.blame === 'generator' || limit.resource.startsWith('generator')
  })
  const cores = broken.map(({ probes }) => Number(probes.api.cpu_core_ratio))
  if (broken.length === 0 || median(cores) >= IDLE_RATIO) return null
  const limits = breakdown(totalsOf(bounded.map(({ limit }) => ({ [limit.resource]: 1 }))))
  const others = limits ? ` (with bounded connections, the limits in rows 3 to 7 were: ${limits})` : ''
  return `The article reports failures while the CPU was only ${wholePercent(cpu_ratio)} busy (and the memory ${wholePercent(memory_ratio)} full). Here, in ${broken.length} of ${trials.length} trials by the generator with its defaults, the generator was the limit${others}, and the service used ${wholePercent(Math.min(...cores))} to ${wholePercent(Math.max(...cores))} of its core: **the API idled while the generator broke.**`
}

/** @param {Comparison} comparison @param {TrialsOf} trialsOf */
function compared({ published, by, rows, claim, measures }, trialsOf) {
  const effects = measures.map((measure) => {
    const [name, generator, value] = MEASURES[measure]
    const [reference, other] = rows.map((row) => byBlock(trialsOf(row, generator), value))
    return { name, by: SENDERS[generator], effect: pairedRatio(reference, other) }
  })
  const evidence = effects.map((one) => `${one.name} (${one.by}): ${ratioText(one.effect)}`)
  return { published, by, verdict: verdictOf(claim, effects[0].effect), evidence }
}

/** Judges success alone: the article promised no latency. @param {TrialsOf} trialsOf */
function noFailures(trialsOf) {
  const trials = trialsOf(CLAIMED_CAPACITY, 'paced')
  const claim = { published: '2,600/s without failures on one core, with a pool of 20', by: 'the article' }
  if (trials.length === 0) return { ...claim, ...NOTHING }
  const p99s_ms = trials.map(({ traffic }) => traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY)
  const success = trials.map(({ traffic }) => traffic.success_ratio)
  const holding = success.filter((ratio) => ratio === 1).length
  const verdict = verdictOnShare(holding / trials.length, { refuted: 0, reproduced: 1 })
  const spread = [...new Set([Math.min(...p99s_ms), Math.max(...p99s_ms)].map(milliseconds))].join(' to ')
  const evidence = `at ${count(Number(trials[0].load.rate_rps))}/s, which is that rate scaled to this machine (bounded generator): success ${percent(median(success))} in ${trials.length} ${trials.length === 1 ? 'trial' : 'trials'}, with a p99 of ${spread}. It is a rate without failures, not a capacity: the article sets no bound on p99`
  return { ...claim, verdict, evidence: [evidence] }
}

/** Counts the responses that are not successes. @param {TrialsOf} trialsOf */
function refusedText(trialsOf) {
  const rows = [3, 4].map((row) => trialsOf(row, 'paced'))
  const refused = rows.map((own) => own.reduce((sum, { traffic }) => sum + traffic.completed - traffic.ok, 0))
  const isNone = rows.every(({ length }) => length > 0) && refused.every((number) => number === 0)
  return `failed responses (bounded generator), in all trials of rows 3 and 4: ${refused.map(count).join(' and ')}${isNone ? ', so neither timeout expired' : ''}`
}

/** @param {TrialsOf} trialsOf */
function codeZero(trialsOf) {
  const claim = {
    published: 'Code 0 means that the server ended the connection (the article says "reset")',
    by: 'the article',
  }
  const own = lostOf(trialsOf, 'vegeta-unbounded')
  const bounded = lostOf(trialsOf, 'paced')
  if (own.trials === 0) return { ...claim, ...NOTHING }
  const dropped = `out of files, the service also closed ${count(own.dropped)} connections, retries included, which takes little CPU`
  const evidence = [
    own.all === 0
      ? "vegeta's defaults: no request ended without an answer"
      : `vegeta's defaults: ${count(own.all)} requests ended without an answer in all trials of rows 3 to 7 (${own.text}); the service ended ${decimal(100 * (own.server / own.all), 1)} % of them, ${decimal(100 * (own.reset / own.all), 1)} % by a reset; ${count(own.ports)} failed because the generator was out of ports`,
    ...(own.dropped === 0 ? [] : [dropped]),
    `bounded generator: ${bounded.text}`,
  ]
  return { ...claim, verdict: verdictOnShare(own.server / own.all, { refuted: 0.5, reproduced: 0.9 }), evidence }
}

/** @param {number} share NaN if of nothing @param {{ refuted: number, reproduced: number }} edges @returns {Verdict} */
function verdictOnShare(share, { refuted, reproduced }) {
  if (share <= refuted) return 'refuted'
  return share >= reproduced ? 'reproduced' : 'undecided'
}

/** Requests that ended without an answer in the overloads. @param {TrialsOf} trialsOf @param {Generator} generator */
function lostOf(trialsOf, generator) {
  const trials = OVERLOADS.flatMap((row) => trialsOf(row, generator))
  const totals = totalsOf(trials.map(({ traffic }) => traffic.errors))
  return {
    trials: trials.length,
    all: sumOf(totals),
    dropped: trials.reduce((sum, { probes }) => sum + (probes?.api?.dropped_connections ?? 0), 0),
    server: sumOf(totals, 'server:'),
    reset: sumOf(totals, 'server:reset'),
    ports: sumOf(totals, 'client:ports'),
    text: breakdown(Object.fromEntries(Object.entries(totals).sort(([, a], [, b]) => b - a))),
  }
}

/** The sum of the counts whose keys begin with the prefix. @param {Record<string, number>} counts @param {string} [prefix] */
export function sumOf(counts, prefix = '') {
  return Object.entries(counts).reduce((sum, [key, number]) => (key.startsWith(prefix) ? sum + number : sum), 0)
}
