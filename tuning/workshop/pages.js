import { table } from '../../load/report/blocks.js'
import { markdownOf } from '../../load/report/markdown.js'
import { questionBlocks } from './exercise.js'
import { EXERCISES } from './exercises/index.js'

/** @import { Exercise, Question } from './exercise.js' */

/** A page lists every choice, also those that some machines lack. */
const ANY_MACHINE = { pinned: true, cores: 8, limits: true, vegeta: true }

/** A page for the student, in markdown. @param {Exercise} exercise */
export function exercisePage({ number, title, minutes, needs, symptoms, predict, turn, expect, discussion }) {
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

/** For the teacher: what comes when, how long it takes, and what it is for. */
export function exercisesTable() {
  const rows = EXERCISES.map(({ number, name, title, minutes, lesson }) => {
    return [`[${number}. ${title}](pages/${name}.md)`, `${minutes} min`, lesson]
  })
  return table(['exercise', 'takes', 'what it is for'], rows)
}

/** @param {Question} question */
function questionParts(question) {
  const hints = question.hints.map((hint, i) => folded(`Hint ${i + 1}`, [hint]))
  return [markdownOf(questionBlocks(question, ANY_MACHINE)), ...hints]
}

/** @param {string} summary @param {string[]} paragraphs */
function folded(summary, paragraphs) {
  return `<details><summary>${summary}</summary>\n\n${paragraphs.join('\n\n')}\n\n</details>`
}
