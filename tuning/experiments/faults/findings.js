import { isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { proven } from '../../../load/capacity/proving.js'
import { answer, heading, list, paragraph, table, titled } from '../../../load/report/blocks.js'
import { cellName, NONE } from '../../../load/report/format.js'
import { moved } from '../../../load/verdict/relax.js'
import { groupBy } from '../../stats/design.js'
import { columnsOf } from '../../stats/tables.js'
import { FAULTS, notchOf } from './index.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Elasticity, TrialRecord } from '../../../load/report/record.js'
 */

/** The trials of a fault in one block. @param {TrialRecord[]} records @param {number} block @param {string} name */
export function trialsOf(records, block, name) {
  return records.filter(({ at, cell }) => at.block === block && cell?.fault === name)
}

/**
 * The trial that counts for a fault in a block. An invalid trial says nothing, unless the planted fault is what made it
 * invalid: noise on the machine, or anything but noise where the fault is the generator's.
 * @param {TrialRecord[]} records of one fault and block @returns {TrialRecord | undefined} undefined if another trial is needed
 */
export function plantedTrial(records) {
  const trials = records.filter(({ at, cell }) => at.phase !== 'proof' && notchOf(cell) === null)
  const { resource = '' } = FAULTS[trials[0]?.cell.fault] ?? {}
  const isPlanted = (/** @type {TrialRecord} */ { outcome }) =>
    resource === 'machine-noise' || (resource.startsWith('generator-') && outcome.blame !== 'noise')
  return trials.find((trial) => isValid(trial) || isPlanted(trial)) ?? trials[MAX_INVALID - 1]
}

/** Block by block, the faults without a trial that counts. @param {{ repeats: number, faults: string[] }} plan @param {TrialRecord[]} records */
export function missingIn({ repeats, faults }, records) {
  return Array.from({ length: repeats }, (_, block) => {
    const missing = faults.filter((name) => !plantedTrial(trialsOf(records, block, name)))
    return missing.map((name) => `${name} in block ${block + 1}`)
  }).flat()
}

/**
 * Lists the limit that was named for each fault in each block in which it was planted, and whether relaxing it helped.
 * @param {{ repeats: number, faults: string[], skipped: string | null }} plan @param {TrialRecord[]} records
 * @typedef {ReturnType<typeof analyse>} FaultsFindings
 */
export function analyse({ repeats, faults, skipped }, records) {
  const blocks = [...new Set(records.map(({ at }) => at.block))]
  const found = Object.entries(FAULTS).flatMap(([fault, { resource, about, alike }]) => {
    const cases = blocks.flatMap((block) => caseOf([resource, alike], trialsOf(records, block, fault)))
    return cases.length > 0 ? [{ fault, resource, about, cases }] : []
  })
  const tried = found.flatMap(({ cases }) => cases).length
  const wrong = found.flatMap(({ fault, resource, cases }) =>
    cases.filter(({ isRight }) => !isRight).map(({ limit }) => `${fault}: expected ${resource}, got ${limit.resource}`),
  )
  const wanted = repeats * faults.length
  const missing = tried < wanted || wanted === 0 ? `${tried} of ${wanted} faults were tried` : null
  const right = tried - wrong.length
  const named = found.flatMap(({ fault, resource: planted, cases }) => {
    return cases.map(({ limit, isRight }) => ({ fault, planted, named: limit.resource, is_right: isRight }))
  })
  const kept = { tried, right, named, skipped }
  return { problem: missing ?? (wrong.join('; ') || null), kept, found, tried, right, skipped }
}

/** notch: the setting that relaxed the limit; null if no knob of ours does. @param {(string | null | undefined)[]} resources that are right answers @param {TrialRecord[]} records of one fault and block */
function caseOf(resources, records) {
  const planted = plantedTrial(records)
  if (!planted) return []
  const relaxed = records.filter(({ at, cell }) => at.phase !== 'proof' && notchOf(cell) !== null)
  const helped = moved([{ ...planted, cell: null }, ...relaxed]) === true
  const counted = planted.limit.resource
  const { limit, elasticities } = proven(planted.limit, records)
  const named = limit ?? planted.limit
  const notch = notchOf(relaxed[0]?.cell ?? null)
  const [isRight, isCountedRight] = [named.resource, counted].map((name) => resources.includes(name))
  return [{ limit: named, counted, elasticities, isRight, isCountedRight, notch, helped }]
}

/** @param {FaultsFindings} findings @returns {Block[]} */
export function report({ found, tried, right, skipped }) {
  const evidence = found.map(({ fault, about, cases }) => ({
    text: `**${fault}** (${about})`,
    items: cases.map(({ limit }) => `${limit.resource}: ${limit.evidence.join('; ')}.`),
  }))
  return [
    answer(`Named correctly: ${right} of ${tried}.`),
    ...(skipped ? [paragraph(`Skipped: ${skipped}.`)] : []),
    namedTable(found),
    ...dosedTable(found),
    heading('What Redline named for each fault', { detail: true }),
    list(evidence),
  ]
}

/** A row per fault: the planted limit, and the limits that were named, with frequencies. @param {FaultsFindings['found']} found */
function namedTable(found) {
  const [head, rows] = columnsOf(found, [
    ['fault', ({ fault }) => fault],
    ['planted', ({ resource }) => resource],
    ['named', ({ cases }) => tally(cases.map(({ limit }) => limit.resource))],
    ['runner-up', ({ cases }) => tally(cases.map(({ limit }) => limit.runner_up ?? NONE))],
    ['confirmed', ({ cases }) => tally(cases.map(confirmedText))],
    ['right', ({ cases }) => `${cases.filter(({ isRight }) => isRight).length} of ${cases.length}`],
  ])
  return table(head, rows, { name: 'named', align: head.map(() => 'l') })
}

/** @param {FaultsFindings['found'][number]['cases'][number]} found */
function confirmedText({ notch, helped }) {
  return notch ? `${helped ? 'yes' : 'no'}: ${cellName(notch)}` : NONE
}

/** A row per fault with a proof: limit by counters, suspect that moved the throughput, final limit, how often each is right. @param {FaultsFindings['found']} found */
function dosedTable(found) {
  const proven = found.flatMap(({ fault, resource, cases }) => {
    const proofs = cases.flatMap(({ elasticities = [], ...one }) => {
      const [first, second] = elasticities
      return first ? { ...one, first, next: second?.elasticity ?? NONE } : []
    })
    return proofs.length > 0 ? [{ fault, resource, proofs }] : []
  })
  const [head, rows] = columnsOf(proven, [
    ['fault', ({ fault }) => fault],
    ['planted', ({ resource }) => resource],
    ['limit by counters', ({ proofs }) => tally(proofs.map(({ counted }) => counted))],
    ['most elastic suspect', ({ proofs }) => tally(proofs.map(({ first }) => first.suspect))],
    ['its elasticity', ({ proofs }) => proofs.map(({ first }) => elasticityText(first)).join(', ')],
    ['next highest elasticity', ({ proofs }) => proofs.map(({ next }) => next).join(', ')],
    ['limit with the proof', ({ proofs }) => tally(proofs.map(({ limit }) => limit.resource))],
    ['right by counters', ({ proofs }) => `${proofs.filter((one) => one.isCountedRight).length} of ${proofs.length}`],
    ['right with the proof', ({ proofs }) => `${proofs.filter((one) => one.isRight).length} of ${proofs.length}`],
  ])
  const about = 'What the doses say (`2x` after a name: in two of the runs; –: none):'
  return titled(about, head, rows, { name: 'dosed', align: head.map(() => 'l') })
}

/** @param {Elasticity} elasticity */
function elasticityText({ elasticity, low, high }) {
  return low === null ? String(elasticity) : `${elasticity} [${low}–${high}]`
}

/** "a 2x, b 1x", the most frequent first. @param {string[]} names */
function tally(names) {
  const groups = [...groupBy(names, (name) => name).values()].sort((a, b) => b.length - a.length)
  return groups.map(({ 0: name, length }) => (names.length > 1 ? `${name} ${length}x` : name)).join(', ')
}
