import { answer, drawn, heading, list, method, paragraph, table, titled } from '../../../load/report/blocks.js'
import { cellName, count, NONE, ratesText } from '../../../load/report/format.js'
import { proofBlocks, proofText } from '../../../load/report/proof.js'
import { KNOBS } from '../../knobs/knobs.js'
import { CONFIDENCE, ratioText } from '../../stats/effects.js'
import { columnsOf, figureOf } from '../../stats/tables.js'
import { byLoadBlocks } from './by-load.js'
import { cellsPicture, cellsTable, notesOf } from './cells.js'
import { canMatter } from './matters.js'
import { OFFERED } from './presets.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Knob } from '../../knobs/knobs.js'
 * @import { Noise } from '../../stats/effects.js'
 * @import { ResponseFindings, TuneFindings } from './findings.js'
 * @import { Run } from '../../../load/report/record.js'
 */

/** Number of interactions in the report. */
const STRONGEST = 5

/** Writes lists as `1, 2 and 3`. */
const WORDS = new Intl.ListFormat('en-GB')

const ENV_FILE = 'recommended.env'

/** @param {TuneFindings} findings @returns {Block[]} */
export function matrixReport(findings) {
  if (findings.capacity_rps === null) return []
  const { responses } = findings
  return [
    answer(sentence(findings)),
    ...proofList(findings),
    heading('Recommended'),
    ...recommended(findings),
    heading('What each knob does, by load'),
    ...byLoadBlocks(findings.by_load, findings.reasons),
    heading('Cells'),
    cellsTable(findings),
    drawn(cellsPicture({ ...findings, responses: responses.filter(({ decides }) => decides) })),
    ...responses.flatMap(responseBlocks),
    ...proofBlocks(findings.searched ?? {}),
    method(methodLines(findings)),
  ]
}

/** An effect within this factor of 1 does not matter; of so many, noise makes some look certain. */
const NARROW = 1.1

/** @param {TuneFindings} findings */
function sentence({ responses: [goodput] }) {
  const moving = goodput.effects.filter(({ tied, ratio }) => !tied && (ratio < 1 / NARROW || ratio > NARROW))
  const unknown = goodput.effects.filter(({ high }) => !Number.isFinite(high))
  const undecided = unknown.map(({ name, level }) => `${name}=${level}`)
  const open = undecided.length > 0 ? ` Not decided, for too few pairs: ${undecided.join(', ')}.` : ''
  if (moving.length === 0 && unknown.length > 0 && unknown.length === goodput.effects.length) return open.trim()
  const wide = goodput.effects.filter(({ low, high }) => Number.isFinite(high) && (low < 1 / NARROW || high > NARROW))
  const excluded = wide.map((effect) => `${effect.name}=${effect.level} (${ratioText(effect)})`)
  if (moving.length === 0 && wide.length > 0)
    return `No clear effect of a tenth or more on the goodput; not excluded: ${excluded.join(', ')}.${open}`
  if (moving.length === 0) return `No knob moves the goodput by a tenth or more.${open}`
  const parts = moving.map((effect) => {
    return `${effect.name}=${effect.level} instead of ${effect.reference}: ${ratioText(effect)} (${effect.verdict})`
  })
  return `What moves the goodput by a tenth or more: ${parts.join('; ')}.${open}`
}

/** The anchor's limit, and the knobs that can therefore matter. @param {TuneFindings} findings @returns {Block[]} none if nothing was dosed */
function proofList({ anchor, searched, undosed, choices, plateau_rps }) {
  if (!searched?.elasticities?.length) return []
  const knobs = choices.map(({ name }) => name)
  const proof = proofText(searched) ?? ''
  const limit = limitText(searched)
  const plateau = plateau_rps === null ? '' : `${count(plateau_rps)}/s in a closed loop, `
  const what = searched.capacity ? capacityText(searched) : `${plateau}limit ${limit}`
  const text = `The anchor, ${cellName(anchor)}: ${what}.`
  return [list([{ text, items: [proof, ...canMatter(searched.elasticities, knobs), ...undosed] }])]
}

/** @param {TuneFindings} findings @returns {Block[]} */
function recommended({ choices, finals, responses, fixed }) {
  const turned = choices.filter(({ name }) => !(name in fixed))
  const [head, rows] = columnsOf(turned, [
    ['knob', ({ name }) => name],
    ['level', ({ level }) => String(level)],
    ['reason', ({ name, by }) => responses.find((response) => response.name === by)?.title ?? keptText(KNOBS[name])],
    ['expected effect', ({ effect }) => (effect ? ratioText(effect) : NONE)],
  ])
  return [
    ...titled('**Recommended settings**:', head, rows, { name: 'recommended' }),
    ...(finals.length > 0 ? [paragraph('Capacities, searched for once more:'), list(finals.map(finalText))] : []),
    ...tradeOff(finals).map(paragraph),
  ]
}

/** The reason to keep the reference. @param {Pick<Knob, 'advised' | 'by'>} knob */
function keptText({ advised, by }) {
  if (advised) return 'kept: no other level was clearly better'
  if (by === 'environment') return 'kept: it decides more than speed'
  return ['prlimit', 'soft limit'].includes(by)
    ? 'kept: a limit outside the service'
    : 'kept: not a setting of the service'
}

/** @param {TuneFindings['finals'][number]} final */
function finalText({ cell, ...found }) {
  return `${cellName(cell)}: ${capacityText(found)}`
}

/** Advice if the settings that get more through in an overload sustain less within the SLO. @param {TuneFindings['finals']} finals */
function tradeOff([best, reference]) {
  const [high_rps, low_rps] = [best?.capacity?.high_rps, reference?.capacity?.low_rps]
  if (!high_rps || !low_rps || high_rps >= low_rps) return []
  return [
    'Within the SLO, the recommended settings sustain a lower rate than the reference. They were chosen for other reasons (see the table); if this rate matters more, keep the reference.',
  ]
}

/** @param {Pick<TuneFindings['finals'][number], 'capacity' | 'limit'>} found */
function capacityText({ capacity, limit }) {
  return capacity ? `${ratesText(capacity)}, limit ${limitText({ limit })}` : 'no capacity was found'
}

/** The name of a limit, and the chapter about it. @param {Pick<TuneFindings['finals'][number], 'limit'>} found */
function limitText({ limit }) {
  return limit ? `${limit.resource} (tuning/PLAYBOOK.md#${limit.resource})` : 'unknown'
}

/** Effects of each level on several measures, as ratios. @param {TuneFindings} findings @param {string[]} names of the measures */
export function effectsTable({ responses }, names) {
  const measures = names.flatMap((name) => responses.find((response) => response.name === name) ?? [])
  const rows = (measures[0]?.effects ?? []).map(({ name, level, reference }, nth) => [
    `${name}=${level}`,
    String(reference),
    ...measures.map(({ effects }) => ratioText(effects[nth])),
  ])
  return table(['level', 'against', ...measures.map(({ short }) => short.replace(/ (us|bytes)\b/, ''))], rows)
}

/** @param {ResponseFindings} response @returns {Block[]} */
function responseBlocks(response) {
  const { title, better, decides, noise, effects, interactions } = response
  const rows = effects.map((effect) => {
    const { name, level, reference, pairs, verdict } = effect
    return [`${name}=${level}`, String(reference), ratioText(effect), String(pairs), verdict]
  })
  const together = interactions.slice(0, STRONGEST).map((effect) => {
    const { level, high, pairs, tied } = effect
    return [String(level), ratioText(effect), String(pairs), Number.isFinite(high) && !tied ? 'yes' : 'not seen']
  })
  const head = ['level', 'against', `ratio [${CONFIDENCE * 100} % interval]`, 'pairs', `verdict (${better} is better)`]
  return [
    heading(title),
    ...(decides ? effectsPicture(response) : []),
    paragraph(noiseText(noise)),
    table(head, rows),
    ...(together.length > 0 ? [table(['together', 'ratio of ratios', 'pairs', 'interaction'], together)] : []),
  ]
}

/** @param {Noise} noise */
function noiseText({ ratio, pairs }) {
  if (pairs === 0) return 'Noise floor: unknown, no cell was visited twice in a block.'
  return `Noise floor: two visits to the same cell in the same block differ by up to x${ratio.toFixed(2)} (95 % of ${pairs} pairs).`
}

/** @param {ResponseFindings} response @returns {Block[]} none if no effect is known */
function effectsPicture({ name, title, better, note, effects }) {
  const known = effects.filter(({ ratio }) => Number.isFinite(ratio))
  if (known.length === 0) return []
  const picture = drawn({
    name: `effects-${name}`,
    title: `Main effects: ${title}`,
    about: [
      `The ratio to each knob's reference level, all other knobs alike, with its interval; ${better} is better. A tie: the interval contains 1, or the effect is within the noise floor.`,
      ...notesOf([{ note }]),
    ].join(' '),
    form: {
      kind: 'dots',
      x: { title: 'ratio to the reference level', unit: 'ratio', log: true },
      labels: known.map((effect) => `${effect.name}=${effect.level}`),
      series: [{ name: 'ratio', values: known.map(figureOf) }],
      reference: 1,
    },
  })
  return [picture]
}

/** @param {TuneFindings} findings */
function methodLines({ preset, anchor, blocks, capacity_rps, searched, plateau_rps, fixed }) {
  const shares = WORDS.format(Object.values(OFFERED).map((share) => `${share}x`))
  const asked = `${count(Number(capacity_rps))}/s, as it was asked for`
  const found = searched?.capacity ? `the anchor's capacity (${capacityText(searched)})` : asked
  const basis = plateau_rps === null ? found : `what the anchor got through in a closed loop (${count(plateau_rps)}/s)`
  return [
    ...(Object.keys(fixed).length > 0 ? [`All cells have ${cellName(fixed)}.`] : []),
    ...(preset === 'limits' ? ['Each pool is filled before the load.'] : []),
    `${blocks} blocks, each with every cell once in a varying random order and the anchor (${cellName(anchor)}) three times. Each visit restarts the service, reads its knobs back, and offers three rates: ${shares} of ${basis}.`,
    `Ratios are taken within a block, with all other knobs alike. The typical ratio and its ${CONFIDENCE * 100} % interval are computed from ranks (Hodges-Lehmann, Wilcoxon's signed ranks), which takes at least six pairs; of twenty intervals around no effect, one misses 1.`,
    'Tied: the interval contains 1, or the noise floor (two visits to the anchor in the same block, as many pairs) covers the ratio.',
    `No cell can get more through than is offered: a goodput of ${OFFERED.above}x the anchor's capacity is a lower bound. The capacity of the finalists is searched for.`,
    'Invalid trials are repeated once, and never counted.',
  ]
}

/** The recommended settings as a file that the API takes as its `.env`. @param {TuneFindings} findings @param {Run} run */
export function matrixFiles({ problem, kept, choices, finals, fixed }, { run_id, machine, interrupted }) {
  const { recommended: levels } = kept
  if (problem || !levels || interrupted) return /** @type {Record<string, string>} */ ({})
  const turned = Object.entries(levels).filter(([name]) => !(name in fixed))
  const lines = turned.map(([name, level]) => {
    if (KNOBS[name].by === 'environment') return `${name}=${level}`
    if (KNOBS[name].by === 'flag') return `# ${name}=${level}: node --max-semi-space-size=${level}`
    return `# ${name}=${level}: not a setting of the API (${KNOBS[name].about})`
  })
  const notes = [
    `Recommended by ${run_id} on ${machine.cpu_model}, ${machine.cores} cores. To take them: cat ${ENV_FILE} >> .env`,
    ...(Object.keys(fixed).length > 0 ? [`Measured with ${cellName(fixed)}`] : []),
    ...finals.map(finalText),
    ...tradeOff(finals),
    ...(choices.some(({ by }) => by) ? [] : ['No level was clearly better than the reference.']),
  ]
  return { [ENV_FILE]: [...notes.map((note) => `# ${note}`), ...lines, ''].join('\n') }
}
