import { answer, drawn, heading, list, paragraph, table } from '../../../load/report/blocks.js'
import { cellName, NONE } from '../../../load/report/format.js'
import { moved } from '../../../load/verdict/relax.js'
import { FAULTS, faultNamed, notchOf } from './index.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Cell, Limit, TrialRecord } from '../../../load/report/record.js'
 */

/** Maximum number of trials of a fault that something else made invalid. */
const MAX_TRIALS = 3

/** The trials of a fault in one block. @param {TrialRecord[]} records @param {number} block @param {string} name */
export function trialsOf(records, block, name) {
  return records.filter(({ at, cell }) => at.block === block && cell?.fault === name)
}

/**
 * The trial that counts for a fault in a block. One that is invalid says nothing, unless that is what was planted.
 *
 * @param {TrialRecord[]} records of one fault and block
 * @returns {TrialRecord | undefined} undefined: one more is needed
 */
export function plantedTrial(records) {
  const trials = records.filter(({ cell }) => notchOf(cell) === null)
  const makesInvalid = /^(generator|machine)-/.test(trials[0] ? faultNamed(trials[0].cell.fault).resource : '')
  const good = trials.find(({ outcome }) => outcome.verdict !== 'invalid' || makesInvalid)
  return good ?? trials[MAX_TRIALS - 1]
}

/**
 * Which limit was named for each fault, and whether relaxing it helped.
 *
 * @param {{ repeats: number, faults: string[], skipped: string | null }} plan
 * @param {TrialRecord[]} records
 *
 * @typedef {object} Found a fault, in the blocks in which it was planted
 * @property {string} fault
 * @property {string} resource what has to be named
 * @property {string} about
 * @property {Case[]} cases
 *
 * @typedef {object} Case
 * @property {Limit} limit that was named
 * @property {boolean} isRight
 * @property {Cell | null} notch by which it was relaxed; null: it is no knob of ours
 * @property {boolean} helped
 */
export function analyse({ repeats, faults, skipped }, records) {
  const blocks = [...new Set(records.map(({ at }) => at.block))]
  const found = FAULTS.map(({ name, resource, about }) => {
    const cases = blocks.flatMap((block) => caseOf(resource, trialsOf(records, block, name)))
    return { fault: name, resource, about, cases }
  }).filter(({ cases }) => cases.length > 0)
  const tried = found.flatMap(({ cases }) => cases)
  const wrong = found.flatMap(({ fault, resource, cases }) =>
    cases.filter(({ isRight }) => !isRight).map(({ limit }) => `${fault}: expected ${resource}, got ${limit.resource}`),
  )
  const wanted = repeats * faults.length
  const missing = tried.length < wanted ? `${tried.length} of ${wanted} faults were tried` : null
  return {
    problem: missing ?? (wrong.join('; ') || null),
    found,
    tried: tried.length,
    right: tried.length - wrong.length,
    skipped,
  }
}

/** @param {string} resource @param {TrialRecord[]} records of one fault and block @returns {Case[]} none, or one */
function caseOf(resource, records) {
  const planted = plantedTrial(records)
  if (!planted) return []
  const { limit } = planted
  const relaxed = records.filter(({ cell }) => notchOf(cell) !== null)
  const helped = moved([{ ...planted, cell: null }, ...relaxed]) === true
  return [{ limit, isRight: limit.resource === resource, notch: notchOf(relaxed[0]?.cell ?? null), helped }]
}

/** @param {ReturnType<typeof analyse>} findings @returns {Block[]} */
export function report({ found, tried, right, skipped }) {
  const evidence = found.map(({ fault, about, cases }) => ({
    text: `**${fault}** (${about})`,
    items: cases.map(({ limit }) => `${limit.resource}: ${limit.evidence.join('; ')}.`),
  }))
  return [
    answer(`${right} of ${tried} planted faults were named right.`),
    ...(skipped ? [paragraph(`Skipped: ${skipped}.`)] : []),
    ...(found.length > 0 ? [drawn(namedPicture(found))] : []),
    namedTable(found),
    heading('What each was named for', { detail: true }),
    list(evidence, { detail: true }),
  ]
}

/** What was planted and what was named: a row per fault, each name with its frequency. @param {Found[]} found */
function namedTable(found) {
  const head = ['fault', 'planted', 'named', 'runner-up', 'confirmed', 'right']
  const rows = found.map(({ fault, resource, cases }) => [
    fault,
    resource,
    tally(cases.map(({ limit }) => limit.resource)),
    tally(cases.map(({ limit }) => limit.runner_up ?? NONE)),
    tally(cases.map(({ notch, helped }) => (notch ? `${helped ? 'yes' : 'no'}: ${cellName(notch)}` : NONE))),
    `${cases.filter(({ isRight }) => isRight).length} of ${cases.length}`,
  ])
  return table(head, rows, { name: 'named', align: head.map(() => 'l') })
}

/** "a 2x, b 1x", the most frequent first. @param {string[]} names */
function tally(names) {
  const counts = [...new Set(names)].map((name) => ({ name, times: names.filter((other) => other === name).length }))
  return counts
    .sort((a, b) => b.times - a.times)
    .map(({ name, times }) => (names.length > 1 ? `${name} ${times}x` : name))
    .join(', ')
}

/** How often each fault was named right. @param {Found[]} found @returns {Picture} */
function namedPicture(found) {
  const text = (/** @type {number} */ number, /** @type {number} */ score) =>
    number === 0 ? null : { score, text: String(number) }
  const cells = found.map(({ resource, cases }) => {
    const right = cases.filter(({ isRight }) => isRight).length
    const second = cases.filter(({ isRight, limit }) => !isRight && limit.runner_up === resource).length
    return [text(right, 1), text(second, -0.4), text(cases.length - right - second, -1)]
  })
  return {
    name: 'named',
    title: 'Planted, and what was named',
    about: 'How many times each fault was planted and named as the limit, as the runner-up only, or not at all.',
    form: {
      kind: 'heat',
      corner: 'fault',
      rows: found.map(({ fault }) => fault),
      columns: ['named', 'runner-up', 'not named'],
      cells,
    },
  }
}
