import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { answerText, whereAndWhen } from '../load/report/report.js'
import { trialTable } from '../load/report/table.js'
import { Results } from '../load/results.js'

const README = fileURLToPath(new URL('../README.md', import.meta.url))
const SWEEP = fileURLToPath(new URL('evidence/sweep', import.meta.url))

/**
 * `npm run docs`: writes what README quotes from the evidence that is committed, so that no figure in it is typed by hand.
 *
 * @returns {string} README.md as it has to be
 */
export function readme() {
  return withBlock(readFileSync(README, 'utf8'), 'sweep', sweepBlock())
}

function sweepBlock() {
  const results = new Results(SWEEP)
  const [run, records] = [results.readRun(), results.readTrials()]
  return [answerText(run, records), trialTable(records), whereAndWhen(run)].join('\n\n')
}

/** Puts text between `<!-- name -->` and `<!-- /name -->`. @param {string} page @param {string} name @param {string} text */
function withBlock(page, name, text) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [before, rest] = page.split(start)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`expected ${start} … ${end} in README.md`)
  return `${before}${start}\n\n${text}\n\n${end}${after}`
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(README, readme())
