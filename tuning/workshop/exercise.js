import fs from 'node:fs'
import { list, paragraph } from '../../load/report/blocks.js'
import { figure, milliseconds } from '../../load/report/format.js'

/**
 * @import { KindOf } from './answers.js'
 * @import { Column } from './evidence.js'
 * @import { factsOfMachine } from './desk.js'
 * @import { Cell, Step, TrialRecord } from '../../load/report/record.js'
 */

/**
 * @typedef {object} Rules what an exercise measures and how it decides; its prose is in a Markdown file
 * @property {Record<string, number>} [constants] that the prose names in {braces}
 * @property {(facts: Facts) => boolean} [differs] whether the section "Here" of the prose applies to this machine
 * @property {(facts: Facts) => Measurement} before the rate that this machine reaches, measured before the first question
 * @property {number} [clock_min] minutes that a student has from the first evidence on; the clock never stops
 * @property {Guess} [predict] asked before there is any evidence
 * @property {(found: Found) => Measurement[]} first what the prediction is about
 * @property {Column[]} columns of the evidence
 * @property {Record<string, (trial: TrialRecord) => string[]>} [notes] paragraphs below the evidence, by measurement
 * @property {Answering} [limits] what limits the service, according to the evidence
 * @property {Answering} turn the knob, and its new level
 * @property {Guess} [expect] the effect of turning it
 * @property {(found: Found) => Measurement[]} again with the knob turned
 * @property {(found: Found) => { solved: boolean, because: string }} outcome decided by what was measured
 * @property {Answering} [explain] asked in the end, for the class
 * @typedef {{ kind: KindOf, solution: (found: Found) => string, wrong?: string }} Answering solution: a right answer, as
 *   typed; wrong: an answer that is understood but does not solve the exercise, with which play.js checks it
 * @typedef {Answering & { compare: (found: Found) => Comparison | null }} Guess compare: with what was measured; null if that decides nothing
 * @typedef {{ right: boolean, text: string }} Comparison
 * @typedef {ReturnType<typeof exerciseOf>} Exercise
 * @typedef {Exercise['turn']} Question
 * @typedef {'predict' | 'limits' | 'turn' | 'expect' | 'explain'} Asked the questions, in their order
 * @typedef {ReturnType<typeof factsOfMachine>} Facts
 * @typedef {{ facts: Facts, trials: Record<string, TrialRecord>, answers: Record<string, any> }} Found all that is known so far:
 *   the latest trial of each measurement, and the latest answer to each question
 * @typedef {{ name: string, cell: Cell, load: Step['load'], countsAlways: boolean }} Measurement countsAlways: even if the
 *   generator or noise was the limit, because that is the subject, or only the rate matters
 */

/**
 * An exercise: its rules, and the prose of the Markdown file of its name. There, a question's options are a list, and its hints a
 * numbered list. @param {number} number from 1 @param {string} id @param {Rules} rules @throws {Error} if the file lacks a section
 */
export function exerciseOf(number, id, { constants = {}, differs, ...rules }) {
  const file = new URL(`exercises/${id}.md`, import.meta.url)
  const [{ title, entries }, ...sections] = sectionsOf(filled(fs.readFileSync(file, 'utf8'), constants))
  const section = (/** @type {string} */ name) => {
    const found = sections.find((one) => one.title === name)
    if (!found) throw new Error(`exercises/${id}.md: expected a section "## ${name}"`)
    return found
  }
  /** @template {Answering} T @param {string} title of its section @param {T} rules */
  const question = (title, { kind, ...answering }) => {
    const { paragraphs, entries, hints } = section(title)
    return {
      ...answering,
      title,
      text: paragraphs.join(' '),
      hints,
      kind: (/** @type {Facts} */ facts) => kind(entries, facts),
    }
  }
  return {
    ...rules,
    number,
    id,
    /** Name of its page and of its results folder: `01-knee`. */
    name: `${String(number).padStart(2, '0')}-${id}`,
    title,
    minutes: Number(entries.minutes),
    difficulty: entries.difficulty,
    needs: entries.needs ?? '',
    lesson: entries.lesson,
    symptoms: section('Symptoms').paragraphs,
    discussion: section('Discussion').paragraphs,
    /** For the teacher: the answer to each question, and the tempting wrong ones. @type {Record<Asked | 'tempting', string>} */
    key: section('Answer key').entries,
    /** The prose's remark on this machine, if any. @param {Facts} facts */
    remark: (facts) => (differs?.(facts) ? filled(section('Here').paragraphs.join(' '), facts) : null),
    predict: rules.predict && question('Predict', rules.predict),
    limits: rules.limits && question('Name the limits', rules.limits),
    turn: question('Turn a knob', rules.turn),
    expect: rules.expect && question('Expect', rules.expect),
    explain: rules.explain && question('Explain', rules.explain),
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

/** @param {Question} question @param {Facts} facts @param {ReturnType<typeof figuresOf>} [figures] "…" stands for them by default */
export function questionBlocks({ text, kind }, facts, figures) {
  const { choices } = kind(facts)
  return [paragraph(filled(text, figures ?? {}).replace(/\{\w+\}/g, '…')), ...(choices ? [list(choices)] : [])]
}

/** Figures that questions name in {braces}: of the measurement before them, and the rate offered first. @param {Exercise} exercise @param {Found} found */
export function figuresOf({ before, first }, found) {
  const { goodput_rps, latency_ms } = found.trials[before(found.facts).name].traffic
  return {
    goodput: figure(goodput_rps),
    p50: milliseconds(latency_ms?.p50),
    p99: milliseconds(latency_ms?.p99),
    rate: figure(Number(first(found)[0].load.rate_rps)),
  }
}
