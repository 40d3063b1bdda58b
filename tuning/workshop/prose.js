import fs from 'node:fs'

/** @import { Rules } from './exercise.js' */

/**
 * An exercise: its rules, and the prose of the Markdown file of its name, in which a question has its hints as a list.
 *
 * @param {number} number from 1
 * @param {string} id
 * @param {Rules} rules
 * @throws {Error} where the file lacks a section
 */
export function exerciseOf(number, id, { constants = {}, predict, turn, expect, ...rules }) {
  const file = new URL(`exercises/${id}.md`, import.meta.url)
  const text = fs.readFileSync(file, 'utf8').replace(/\{(\w+)\}/g, (whole, name) => String(constants[name] ?? whole))
  const [{ title, items }, ...sections] = sectionsOf(text)
  const { minutes, needs = '', lesson } = Object.fromEntries(items.map((item) => item.split(/: (.*)/)))
  const section = (/** @type {string} */ name) => {
    const found = sections.find((one) => one.title === name)
    if (!found) throw new Error(`exercises/${id}.md: expected a section "## ${name}"`)
    return found
  }
  const question = (/** @type {string} */ name) => ({
    text: section(name).paragraphs.join(' '),
    hints: section(name).items,
  })
  return {
    number,
    id,
    /** Of its page and of its folder of results: `01-knee`. */
    name: `${String(number).padStart(2, '0')}-${id}`,
    title,
    minutes: Number(minutes),
    needs,
    lesson,
    symptoms: section('Symptoms').paragraphs,
    discussion: section('Discussion').paragraphs,
    ...rules,
    predict: { ...question('Predict'), ...predict },
    turn: { ...question('Turn a knob'), ...turn },
    expect: expect && { ...question('Expect'), ...expect },
  }
}

/** The paragraphs below each heading, and the items of its list, each in one line. @param {string} markdown */
function sectionsOf(markdown) {
  const parts = markdown.split(/^#+ /m).slice(1)
  return parts.map((part) => {
    const [title, ...blocks] = part.trim().split(/\n{2,}/)
    const isList = (/** @type {string} */ block) => block.startsWith('- ')
    const items = blocks.filter(isList).flatMap((block) => block.split(/^- /m).slice(1))
    return { title, paragraphs: blocks.filter((block) => !isList(block)).map(inLine), items: items.map(inLine) }
  })
}

/** @param {string} text */
function inLine(text) {
  return text.trim().replace(/\s*\n\s*/g, ' ')
}
