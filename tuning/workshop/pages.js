import { table } from '../../load/report/blocks.js'
import { markdownOf } from '../../load/report/markdown.js'
import { questionBlocks } from './exercise.js'
import { EXERCISES } from './exercises/index.js'

/** @import { Asked, Exercise, Question } from './exercise.js' */

/** A page lists every choice, including those that some machines lack. */
const ANY_MACHINE = { pinned: true, cores: 8, limits: true, vegeta: true }

/** If an option is missing, the options after it have other letters. */
const BARE_MACHINE = { pinned: false, cores: 1, limits: false, vegeta: false }

/** A page for the student, in markdown. @param {Exercise} exercise */
export function exercisePage({ number, title, minutes, difficulty, needs, ...exercise }) {
  const { symptoms, predict, limits, turn, expect, explain, discussion } = exercise
  const parts = [
    `# ${number}. ${title}`,
    `\`npm run workshop -- --exercise ${number}\`, about ${minutes} minutes. \`npm run docs\` writes this page from the exercise; "…" stands for a figure that you will measure.`,
    `**Difficulty**: ${difficulty}.`,
    ...(needs ? [`**Before this**: ${needs}`] : []),
    '## Symptoms',
    ...symptoms,
    ...(predict ? [...questionParts(predict), 'Write your guess down before you measure: ______________'] : []),
    '## Measure, and read the evidence',
    'The program now puts load on the service and prints a table. Which figure surprised you? Which resource was saturated, and which was\nidle?',
    ...(limits ? questionParts(limits) : []),
    ...questionParts(turn),
    ...(expect ? questionParts(expect).slice(1) : []),
    limits
      ? 'Then the program measures again. The exercise is solved if the changes keep the promise, both are needed, and they lift the limits that\nyou named.'
      : 'Then the program measures again, and the measurement decides whether the exercise is solved.',
    '## When it is solved',
    ...(explain ? questionParts(explain).slice(1) : []),
    folded('Discussion', discussion),
  ]
  return `${parts.join('\n\n')}\n`
}

/** The answers, to print for the teacher. */
export function keyPage() {
  const answers = EXERCISES.flatMap((exercise) => {
    const { number, title, lesson, key } = exercise
    const items = Object.entries(key).map(([name, text]) => {
      const heading = name === 'tempting' ? 'Tempting' : exercise[/** @type {Asked} */ (name)]?.title
      return `- **${heading}**: ${lettered(text, exercise)}`
    })
    return [`## ${number}. ${title}`, [...items, `- **Lesson**: ${lesson}`].join('\n')]
  })
  const about =
    "For the teacher, to print. `npm run docs` writes this page from the exercises. Where an answer depends on the machine, the\nprogram judges it by what was measured on that machine; a student's number may differ from a neighbour's, and both may be right. A letter such as d) is the one\non the student's page; where an option's letter depends on the machine, no letter is given."
  return `${['# Answer key', about, ...answers].join('\n\n')}\n`
}

/** Adds the letters under which the student's page lists options. @param {string} text @param {Exercise} exercise */
function lettered(text, { predict, limits, turn }) {
  const letters = [predict, limits, turn].flatMap((question) => {
    const [any, fewest] = [ANY_MACHINE, BARE_MACHINE].map((facts) => question?.kind(facts).letters ?? {})
    return Object.entries(any).filter(([name, letter]) => fewest[name] === letter)
  })
  return text.replace(/`([\w-]+)`/g, (whole, option) => {
    const own = letters.filter(([name]) => name === option)
    return own.length === 1 ? `${own[0][1]}) ${whole}` : whole
  })
}

/** A table for the teacher: the exercises in order, their durations and their lessons. */
export function exercisesTable() {
  const rows = EXERCISES.map(({ number, name, title, minutes, difficulty, lesson }) => {
    return [`[${number}. ${title}](pages/${name}.md)`, `${minutes} min`, difficulty.replace(/;.*/, ''), lesson]
  })
  return table(['exercise', 'takes', 'difficulty', 'lesson'], rows, { align: ['l', 'r', 'l', 'l'] })
}

/** Its heading, its text, and its hints. @param {Question} question */
function questionParts(question) {
  const hints = question.hints.map((hint, i) => folded(`Hint ${i + 1}`, [hint]))
  return [`## ${question.title}`, markdownOf(questionBlocks(question, ANY_MACHINE)), ...hints]
}

/** @param {string} summary @param {string[]} paragraphs */
function folded(summary, paragraphs) {
  return `<details><summary>${summary}</summary>\n\n${paragraphs.join('\n\n')}\n\n</details>`
}
