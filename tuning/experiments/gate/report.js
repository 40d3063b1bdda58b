import { answer, heading, method, paragraph, sectionsOf, table } from '../../../load/report/blocks.js'
import { count, decimal, milliseconds } from '../../../load/report/format.js'
import { markdownOf } from '../../../load/report/markdown.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Run } from '../../../load/report/record.js'
 * @import { Criterion, Estimate } from './decision.js'
 * @import { GateFindings } from './findings.js'
 */

/** @type {Record<Criterion['name'], (value: number) => string>} */
const UNITS = {
  'CPU per request': (us) => `${decimal(us, 1)} us`,
  throughput: (rps) => `${count(Math.round(rps))}/s`,
  p50: milliseconds,
  p99: milliseconds,
  memory: (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`,
}

/** @param {GateFindings} findings @returns {Block[]} */
export function gateReport(findings) {
  const { plan, figures, functions } = findings
  const rows = figures.map(({ criterion: { name }, base, head, ...estimate }) => {
    return [name, UNITS[name](base), UNITS[name](head), ratioText(estimate), percentText(estimate.noise_ratio)]
  })
  const profile = [
    paragraph('Where the CPU time of a request went, in the functions that changed most (without what they call):'),
    table(
      ['function', 'base', 'head', 'change'],
      functions.map(({ name, base_us, head_us }) => {
        return [
          `\`${name}\``,
          `${decimal(base_us, 1)} us`,
          `${decimal(head_us, 1)} us`,
          `${head_us > base_us ? '+' : ''}${decimal(head_us - base_us, 1)} us`,
        ]
      }),
    ),
  ]
  return [
    answer(sentence(findings)),
    table(['', 'base', 'head', 'head / base', 'noise'], rows, { name: 'figures' }),
    ...(functions.length > 0 ? profile : []),
    heading('How to read it', { detail: true }),
    paragraph(
      `Medians, and the ratio of head to base with a 95 % interval, over ${blocksText(figures)}; noise: by how much the base differs from itself in one of twenty blocks. Accepted is ${percentText(1 + plan.tolerance_ratio)} more.`,
    ),
    method([
      'Each block starts the base twice and the head once, all on one core. For the CPU per request, they are loaded at the same time, so that a change of the core costs all of them the same, beside one more base, which alone bears the probes of the lab and is not compared (services that run already: in turns). In turns, they get two slices of a closed loop (after one that does not count), and one at half of its throughput for the latency. The verdict is looked for after each block, by intervals of 99 %.',
    ]),
  ]
}

/** How many blocks the figures come from, the first of them and the others. @param {GateFindings['figures']} figures */
function blocksText(figures) {
  const [first, ...others] = figures
  const all = Math.max(0, ...others.map(({ blocks }) => blocks))
  const rest = others.length > 0 && all !== first.blocks ? `, the others over ${all}` : ''
  return `${first?.blocks ?? 0} blocks${rest}`
}

/** @param {GateFindings} findings */
function sentence({ verdict, deciding, criterion, plan, more }) {
  if (!deciding) return 'Undecided: nothing could be compared.'
  const found = `${criterion.name} of head / base: ${ratioText(deciding)}`
  const accepted = percentText(1 + plan.tolerance_ratio)
  if (verdict === 'same or better') return `Same or better: ${found}; at most ${accepted} worse is accepted.`
  if (verdict === 'regressed') return `Regressed: ${found}; at most ${accepted} worse was accepted.`
  const wanted = Number.isFinite(Number(more)) ? ` About ${count(Number(more))} blocks would decide (--blocks).` : ''
  return `Undecided: ${found}; the interval holds ${accepted} worse, and this machine differs from itself by ${percentText(deciding.noise_ratio)}.${wanted}`
}

/** The report as a comment for a pull request, with the machine and the command instead of the explanations. @param {GateFindings} findings @param {Run} run */
export function commentOf(findings, { machine, argv }) {
  const [{ blocks }] = sectionsOf(gateReport(findings))
  const where = `${machine.cpu_model}, ${machine.cores} cores, ${machine.kernel}`
  return markdownOf([...blocks, paragraph(`Measured on ${where}, by \`redline gate ${argv.join(' ')}\`.`)])
}

/** @param {Pick<Estimate, 'ratio' | 'low' | 'high'>} estimate */
function ratioText({ ratio, low, high }) {
  const [one, from, to] = [ratio, low, high].map((value) => decimal(value, 3))
  return Number.isFinite(high) ? `${one} [${from}–${to}]` : one
}

/** @param {number} ratio */
function percentText(ratio) {
  return `${decimal((ratio - 1) * 100, 1)} %`
}
