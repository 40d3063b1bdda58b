import { table } from '../../load/report/blocks.js'
import { markdownOf } from '../../load/report/markdown.js'
import { questionBlocks } from './exercise.js'
import { EXERCISES } from './exercises/index.js'

/** @import { Exercise, Facts, Question } from './exercise.js' */

/** A machine on which everything can be had, for what a page lists. @type {Facts} */
const ANY_MACHINE = { pinned: true, cores: 8, limits: true, vegeta: true }

/**
 * A page for the student, from the exercise itself.
 *
 * @param {Exercise} exercise
 * @param {number} number
 * @returns {string} markdown
 */
export function exercisePage(exercise, number) {
  const { title, minutes, needs, symptoms, predict, turn, expect, discussion } = exercise
  const parts = [
    `# ${number}. ${title}`,
    `\`npm run workshop -- --exercise ${number}\`, about ${minutes} minutes. This page is written from the exercise by \`npm run docs\`; a figure that has to be measured stands as "…".`,
    ...(needs ? [`**You need**: ${needs}`] : []),
    '## Symptoms',
    ...symptoms,
    '## Predict',
    ...questionParts(predict),
    'Write your guess down before you measure: ______________',
    '## Measure, and read the evidence',
    'Which figure surprised you? What was full, and what was idle?',
    '## Turn a knob',
    ...questionParts(turn),
    ...(expect ? questionParts(expect) : []),
    'It is measured again. It is solved when the measurement says so.',
    '## When it is solved',
    folded('Discussion', discussion),
  ]
  return `${parts.join('\n\n')}\n`
}

/** The name of its page. @param {Exercise} exercise @param {number} number */
export function pageName({ id }, number) {
  return `${String(number).padStart(2, '0')}-${id}.md`
}

/** For the teacher: what comes when, what it is for, and what is often answered. */
export function exercisesTable() {
  const rows = EXERCISES.map((exercise, i) => [
    `[${i + 1}. ${exercise.title}](pages/${pageName(exercise, i + 1)})`,
    `${exercise.minutes} min`,
    exercise.lesson,
  ])
  return table(['exercise', 'takes', 'what it is for'], rows)
}

/** @param {Question} question */
function questionParts(question) {
  return [markdownOf(questionBlocks(question, ANY_MACHINE)), ...hintParts(question)]
}

/** @param {Question} question */
function hintParts({ hints }) {
  return hints.map((hint, i) => folded(`Hint ${i + 1}`, [hint]))
}

/** @param {string} summary @param {string[]} paragraphs */
function folded(summary, paragraphs) {
  return `<details><summary>${summary}</summary>\n\n${paragraphs.join('\n\n')}\n\n</details>`
}
