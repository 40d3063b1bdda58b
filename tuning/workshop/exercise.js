import fs from 'node:fs'
import { list, paragraph } from '../../load/report/blocks.js'

/**
 * @import { Column } from './evidence.js'
 * @import { factsOfMachine } from './facts.js'
 * @import { Cell, Step, TrialRecord } from '../../load/report/record.js'
 */

/**
 * What an exercise measures and how it decides: data and small pure functions. Its prose is in a Markdown file. The
 * player (player.js) knows the order of events and nothing of any exercise; the pages (pages.js) are written from the same data.
 *
 * @typedef {object} Rules
 * @property {Record<string, number>} [constants] that the prose names in {braces}
 * @property {(facts: Facts) => boolean} [differs] whether what its section "Here" says holds on this machine
 * @property {(facts: Facts) => Measurement[]} before what has to be known of this machine before anything is asked
 * @property {(found: Found) => Record<string, string>} figures what the questions name in {braces}, from the trials before
 * @property {Answering} predict
 * @property {(found: Found) => Measurement[]} first
 * @property {Record<string, string>} rows of the evidence: the name of a measurement by what its row is called
 * @property {Column[]} columns
 * @property {Record<string, (trial: TrialRecord) => string[]>} [notes] paragraphs below it, by the measurement that they are about
 * @property {(found: Found) => Comparison} compare the guess with what was measured
 * @property {Answering} turn which knob, and to what
 * @property {Answering} [expect] the effect of that
 * @property {(found: Found) => Measurement[]} again with the knob turned
 * @property {(found: Found) => Comparison} [compareExpected]
 * @property {(found: Found) => { solved: boolean, because: string }} outcome decided by what was measured
 *
 * @typedef {ReturnType<typeof exerciseOf>} Exercise
 * @typedef {ReturnType<typeof factsOfMachine>} Facts
 * @typedef {{ facts: Facts, trials: Record<string, TrialRecord>, answers: Record<string, any> }} Found all that is known so far:
 *   trials by measurement, answers by question; of several, the last
 * @typedef {{ name: string, cell: Cell, load: Step['load'], countsAlways: boolean }} Measurement cell: of the service and its
 *   surroundings; countsAlways: whatever the verdict, since the disturbance is the subject, or only the rate matters
 *
 * @typedef {object} Answering
 * @property {Kind | ((options: Record<string, string>) => Kind)} kind options: what may be chosen, and what it says
 * @property {(found: Found) => string} solution what somebody types who knows
 * @property {(found: Found) => string} [wrong] what somebody types who does not: understood, but no solution
 *
 * @typedef {Exercise['predict']} Question its hints: one after the other, each tells more
 * @typedef {{ right: boolean, text: string }} Comparison
 *
 * @typedef {object} Kind what may be answered
 * @property {(text: string, facts: Facts) => any} parse undefined: not as expected
 * @property {(facts: Facts) => string} expected completes "expected …"
 * @property {(facts: Facts) => string[]} [choices] lines to choose from
 */

/**
 * An exercise: its rules, and the prose of the Markdown file of its name. A question there has what may be chosen as a list, and
 * its hints as a numbered list.
 *
 * @param {number} number from 1
 * @param {string} id
 * @param {Rules} rules
 * @throws {Error} where the file lacks a section
 */
export function exerciseOf(number, id, { constants = {}, differs, predict, turn, expect, ...rules }) {
  const file = new URL(`exercises/${id}.md`, import.meta.url)
  const [{ title, entries }, ...sections] = sectionsOf(filled(fs.readFileSync(file, 'utf8'), constants))
  const section = (/** @type {string} */ name) => {
    const found = sections.find((one) => one.title === name)
    if (!found) throw new Error(`exercises/${id}.md: expected a section "## ${name}"`)
    return found
  }
  const question = (/** @type {string} */ name, /** @type {Rules['turn']} */ { kind, ...answers }) => {
    const { paragraphs, entries: options, hints } = section(name)
    return { text: paragraphs.join(' '), hints, ...answers, kind: typeof kind === 'function' ? kind(options) : kind }
  }
  return {
    number,
    id,
    /** Of its page and of its folder of results: `01-knee`. */
    name: `${String(number).padStart(2, '0')}-${id}`,
    title,
    minutes: Number(entries.minutes),
    needs: entries.needs ?? '',
    lesson: entries.lesson,
    symptoms: section('Symptoms').paragraphs,
    discussion: section('Discussion').paragraphs,
    remark: (/** @type {Facts} */ facts) =>
      differs?.(facts) ? filled(section('Here').paragraphs.join(' '), facts) : null,
    ...rules,
    predict: question('Predict', predict),
    turn: question('Turn a knob', turn),
    expect: expect && question('Expect', expect),
  }
}

/** The paragraphs below each heading, the entries of its list, and those of its numbered list. @param {string} markdown */
function sectionsOf(markdown) {
  const parts = markdown.split(/^#+ /m).slice(1)
  return parts.map((part) => {
    const [title, ...blocks] = part.trim().split(/\n{2,}/)
    const itemsOf = (/** @type {RegExp} */ mark) => {
      return blocks.flatMap((block) => (block.search(mark) === 0 ? block.split(mark).slice(1) : [])).map(inLine)
    }
    const paragraphs = blocks.filter((block) => !/^(- |\d+\. )/.test(block)).map(inLine)
    const entries = itemsOf(/^- /m).map((item) => item.split(/: (.*)/))
    return { title, paragraphs, entries: Object.fromEntries(entries), hints: itemsOf(/^\d+\. /m) }
  })
}

/** Text with the values of the names in {braces} that are known. @param {string} text @param {Record<string, unknown>} values */
function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole))
}

/** @param {string} text */
function inLine(text) {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}

/** @param {Question} question @param {Facts} facts @param {Record<string, string>} [figures] those that are known */
export function questionBlocks({ text, kind }, facts, figures = {}) {
  const known = filled(text, figures).replace(/\{\w+\}/g, '…')
  return [paragraph(known), ...(kind.choices ? [list(kind.choices(facts))] : [])]
}
