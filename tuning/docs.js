import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { answerText, settingsLine, whereAndWhen } from '../load/report/report.js'
import { Results } from '../load/results.js'
import { benchTables } from './bench/tables.js'
import { confusionTable } from './faults/table.js'
import { overloadTable } from './overload.js'

const README = fileURLToPath(new URL('../README.md', import.meta.url))
const EVIDENCE = new URL('evidence/', import.meta.url)

/**
 * `npm run docs`: writes what README quotes from the evidence that is committed, so that no figure in it is typed by hand.
 *
 * @returns {string} README.md as it has to be
 */
export function readme() {
  return Object.entries(BLOCKS).reduce(
    (page, [name, block]) => withBlock(page, name, block(name)),
    readFileSync(README, 'utf8'),
  )
}

/** What stands between `<!-- name -->` and `<!-- /name -->`, from the run in the folder of that name. */
const BLOCKS = {
  faults: faultsBlock,
  bench: benchBlock,
  'sweep-batched': sweepBlock,
  'sweep-single': sweepBlock,
  overload: overloadBlock,
  'overload-far': overloadBlock,
}

/** @param {string} name */
function benchBlock(name) {
  const { run, records } = evidence(name)
  return [benchTables(records), whereAndWhen(run)].join('\n\n')
}

/** @param {string} name */
function faultsBlock(name) {
  const { run, records } = evidence(name)
  return [confusionTable(records), whereAndWhen(run)].join('\n\n')
}

/** @param {string} name */
function overloadBlock(name) {
  const { run, records } = evidence(name)
  return [overloadTable(records), [settingsLine(records), whereAndWhen(run)].join('\n')].join('\n\n')
}

/** @param {string} name folder of a sweep */
function sweepBlock(name) {
  const { run, records } = evidence(name)
  const conditions = [settingsLine(records), whereAndWhen(run)].join('\n')
  const trials = `[Every trial of it](tuning/evidence/${name}/report.md).`
  return [answerText(run, records), trials, conditions].join('\n\n')
}

/** @param {string} name */
function evidence(name) {
  const results = new Results(fileURLToPath(new URL(name, EVIDENCE)))
  return { run: results.readRun(), records: results.readTrials() }
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
