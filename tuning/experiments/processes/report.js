import { answer, list, method, titled } from '../../../load/report/blocks.js'
import { count, isSameCell, milliseconds, NONE } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { byBlock, pairedRatio, ratioText } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { GENERATOR_LIMIT, generatorWasLimit, isSound, leftOut, unmeasured } from '../../stats/sound.js'
import { REFERENCE, setupsOf } from './design.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Setup } from './design.js'
 * @import { ProcessesPlan } from './processes.js'
 * @typedef {ReturnType<typeof analyse>} ProcessesFindings
 */

/** @param {ProcessesPlan} plan @param {TrialRecord[]} records */
export function analyse(plan, records) {
  const sound = trialsAt(records, {}, isSound)
  const setups = setupsOf(plan).flatMap((setup) => figuresOf(setup, sound))
  const missing = unmeasured(setupsOf(plan), records)
  return {
    problem: missing && `${nameOf(missing.cell)} ${missing.why}`,
    kept: { conclusion: conclusionOf(setups), setups },
    ...{ plan, setups, leftOut: leftOut(records) },
  }
}

/** Figures of a set-up, if it had a sound trial. @param {Setup} setup @param {TrialRecord[]} sound */
function figuresOf(setup, sound) {
  const trialsOf = (/** @type {Setup} */ one) => sound.filter(({ cell }) => isSameCell(cell, one))
  const [trials, others] = [setup, REFERENCE].map(trialsOf)
  if (trials.length === 0) return []
  const [first] = trials
  const ratesOf = (/** @type {TrialRecord[]} */ own) => byBlock(own, ({ traffic }) => traffic.goodput_rps)
  return [
    {
      ...setup,
      goodput_rps: median(trials.map(({ traffic }) => traffic.goodput_rps)),
      p50_ms: median(trials.map(({ traffic }) => traffic.ok_latency_ms?.p50 ?? Number.NaN)),
      cores: String(first.settings.API_CORES ?? first.target.cores ?? ''),
      to_one: isSameCell(setup, REFERENCE) ? null : pairedRatio(ratesOf(others), ratesOf(trials)),
      is_limited: [trials, others].some(generatorWasLimit),
    },
  ]
}

/** @typedef {ReturnType<typeof figuresOf>[number]} Figures */

/** @param {Figures[]} setups */
function conclusionOf(setups) {
  const compared = setups.filter(({ to_one }) => to_one)
  if (compared.length === 0) return 'Nothing was compared.'
  const texts = compared.map((one) => {
    return `${one.front === 'direct' ? 'one without HAProxy' : `${one.processes} behind it`}: ${ratioOf(one)}`
  })
  return `Durable rows/s relative to one API process behind HAProxy: ${texts.join(', ')}.`
}

/** @param {Setup} setup */
function nameOf({ processes, front }) {
  return front === 'direct' ? `${processes}, without HAProxy` : `${processes}, behind HAProxy`
}

/** @param {Figures} figures */
function ratioOf({ to_one, is_limited }) {
  return (to_one && (is_limited ? GENERATOR_LIMIT : ratioText(to_one))) ?? '1'
}

/** @param {ProcessesFindings} findings */
export function report({ plan, kept, setups, leftOut }) {
  const rows = setups.map((one) => [
    nameOf(one),
    one.cores ? `core${one.cores.includes(' ') ? 's' : ''} ${one.cores.replaceAll(' ', ', ')}` : NONE,
    `${count(Math.round(one.goodput_rps))}/s`,
    milliseconds(one.p50_ms),
    ratioOf(one),
  ])
  const about =
    '**What one more API process brings**, closed loop. Postgres, HAProxy and the generator run on the remaining cores; where no core is left, an additional API process shares a core with them. The last column compares the durable rows/s with those of one process behind HAProxy: each block (one round of the set-ups below) gives one ratio, and the typical one is shown, which can differ from the quotient of the rates. A closed loop has no bound on p99, so these rates are higher than capacities.'
  const { blocks, duration_s, connections, mix, haproxy } = plan
  return [
    answer(kept.conclusion),
    ...titled(about, ['API processes', 'runs on', 'durable rows', 'p50', 'relative to 1 behind HAProxy'], rows),
    ...(leftOut.length > 0 ? [list(leftOut)] : []),
    method([
      `Each block has every set-up once, in a random order (${blocks} x ${setupsOf(plan).length} trials of ${duration_s} s, ${connections[0]} connections, seed ${mix.seed}). Ratios are taken within a block; their intervals are computed from ranks, and need six blocks.`,
      `HAProxy ${haproxy.version} has one thread, balances by leastconn, keeps connections, and neither checks the processes nor retries. In the table of trials, *API core* is HAProxy's share of a core where HAProxy is in front.`,
    ]),
  ]
}
