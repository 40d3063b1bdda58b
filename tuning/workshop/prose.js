import fs from 'node:fs'

/** @import { Rules } from './exercise.js' */

/**
 * An exercise: its rules, and the prose of the Markdown file of its name. A question there has what may be chosen as a list, and
 * its hints as a numbered list.
 *
 * @param {number} number from 1
 * @param {string} id
 * @param {Rules} rules
 * @throws {Error} where the file lacks a section
 */
export function exerciseOf(number, id, { constants = {}, predict, turn, expect, ...rules }) {
  const file = new URL(`exercises/${id}.md`, import.meta.url)
  const text = fs.readFileSync(file, 'utf8').replace(/\{(\w+)\}/g, (whole, name) => String(constants[name] ?? whole))
  const [{ title, entries }, ...sections] = sectionsOf(text)
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

/** @param {string} text */
function inLine(text) {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}
