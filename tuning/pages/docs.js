import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from '../../api/settings.js'
import { list, paragraph } from '../../load/report/blocks.js'
import { markdownOf } from '../../load/report/markdown.js'
import { settingsLine, whereAndWhen } from '../../load/run/old.js'
import { sweepItems } from '../../load/verbs/sweep/answer.js'
import { ablate } from '../experiments/ablate/ablate.js'
import { budgetBlocks } from '../experiments/ablate/report.js'
import { articleText } from '../experiments/article/tables.js'
import { processTable, strategiesText } from '../experiments/balance/tables.js'
import { benchTables } from '../experiments/bench/tables.js'
import { confusionTable } from '../experiments/faults/table.js'
import { CHAPTERS, CLAIMS } from '../experiments/playbook/claims.js'
import { claimsTable, littleTable, summaryTable, verdictsText } from '../experiments/playbook/tables.js'
import { EXERCISES } from '../workshop/exercises/index.js'
import { exercisePage, exercisesTable, pageName } from '../workshop/pages.js'
import { evidence, isKept, tableNamed } from './evidence.js'
import { answerBlock } from './front.js'
import { arithmeticTable, pgbouncerTable, poolsThatFit } from './more-cores.js'

/** @import { TrialRecord } from '../../load/run/trial.js' */

const ENV_EXAMPLE = fileURLToPath(new URL('../../.env.example', import.meta.url))
const README = fileURLToPath(new URL('../../README.md', import.meta.url))
const EXPERIMENTS = fileURLToPath(new URL('../README.md', import.meta.url))
const SCALING = fileURLToPath(new URL('../SCALING.md', import.meta.url))
const PLAYBOOK = fileURLToPath(new URL('../PLAYBOOK.md', import.meta.url))
const TEACHER = fileURLToPath(new URL('../workshop/TEACHER.md', import.meta.url))
const EXERCISE_PAGES = new URL('../workshop/pages/', import.meta.url)

/**
 * `npm run docs`: writes what the pages quote from the committed evidence, so that no figure in them is typed by hand; the API's
 * settings; and the pages of the workshop, whose text stands in its exercises.
 *
 * @returns {Record<string, string>} files, and what has to be in them
 */
export function pages() {
  return {
    [ENV_EXAMPLE]: envExample(),
    [README]: pageOf(README, { answer: answerBlock, settings: settingsTable }),
    [EXPERIMENTS]: pageOf(EXPERIMENTS, EXPERIMENTS_BLOCKS),
    [SCALING]: pageOf(SCALING, SCALING_BLOCKS),
    [PLAYBOOK]: pageOf(PLAYBOOK, PLAYBOOK_BLOCKS),
    [TEACHER]: pageOf(TEACHER, { exercises: exercisesTable }),
    ...exercisePages(),
  }
}

export function writePages() {
  for (const [file, page] of Object.entries(pages())) writeFileSync(file, page)
}

/** @param {string} file @param {Record<string, (name: string) => string>} blocks */
function pageOf(file, blocks) {
  const names = Object.entries(blocks)
  return names.reduce((page, [name, block]) => withBlock(page, name, block(name)), readFileSync(file, 'utf8'))
}

/** Of the experiments: what stands between `<!-- name -->` and `<!-- /name -->`, from the run in the folder of that name. */
const EXPERIMENTS_BLOCKS = {
  'sweep-batched': sweepBlock,
  'sweep-single': sweepBlock,
  faults: faultsBlock,
  bench: benchBlock,
  knobs: knobsBlock,
  overload: overloadBlock,
  'overload-far': overloadBlock,
  ablate: whenKept('npm run ablate', ablateText),
  balance: whenKept('npm run balance', (run, records) => {
    return `${strategiesText(run, records)}\n\n[All of it](evidence/balance/report.md).`
  }),
}

const SCALING_BLOCKS = {
  processes: whenKept('npm run balance', (run, records) => processTable(run.plan, records), 'balance'),
  pgbouncer: whenKept('npm run tune -- --preset pgbouncer', pgbouncerTable),
  arithmetic: arithmeticBlock,
}

/** Of PLAYBOOK.md: the claims of each of its chapters, and what belongs to all. */
const PLAYBOOK_BLOCKS = {
  verdicts: verdictsBlock,
  little: () => littleTable(evidence('playbook').records),
  article: articleBlock,
  ...Object.fromEntries(Object.keys(CHAPTERS).map((chapter) => [chapter, claimsBlock])),
}

/** @param {any} run @param {TrialRecord[]} records */
function ablateText(run, records) {
  const findings = ablate.analyse(run.plan, records, run)
  return markdownOf([paragraph(findings.conclusions[0]), ...budgetBlocks(/** @type {any} */ (findings), 'cpu')])
}

/** @returns {Record<string, string>} */
function exercisePages() {
  const pages = EXERCISES.map((exercise, i) => {
    const file = fileURLToPath(new URL(pageName(exercise, i + 1), EXERCISE_PAGES))
    return [file, exercisePage(exercise, i + 1)]
  })
  return Object.fromEntries(pages)
}

function knobsBlock() {
  const { run, records } = evidence('playbook')
  return [verdictsText(records), summaryTable(CLAIMS, records), whereAndWhen(run)].join('\n\n')
}

function verdictsBlock() {
  const { run, records } = evidence('playbook')
  return [verdictsText(records), whereAndWhen(run)].join('\n\n')
}

/** @param {string} chapter */
function claimsBlock(chapter) {
  const { run, records } = evidence('playbook')
  const claims = CLAIMS.filter(({ id }) => CHAPTERS[chapter].includes(id))
  return [claimsTable(claims, records), `Run ${run.run_id}.`].join('\n\n')
}

/** @param {string} name */
function articleBlock(name) {
  const { run, records } = evidence(name)
  return [articleText(run, records), whereAndWhen(run)].join('\n\n')
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
  return [tableNamed('loads', name), [settingsLine(records), whereAndWhen(run)].join('\n')].join('\n\n')
}

/** @param {string} name folder of a sweep */
function sweepBlock(name) {
  const { run, records } = evidence(name)
  const conditions = [settingsLine(records), whereAndWhen(run)].join('\n')
  const trials = `[Every trial of it](evidence/${name}/report.md).`
  return [markdownOf([list(sweepItems({ ...run, records }))]), trials, conditions].join('\n\n')
}

function envExample() {
  const settings = Object.entries(SETTINGS).map(([name, { default: byDefault, expected, about }]) => {
    return `\n# ${about}\n# Expected: ${expected}\n#${name}=${byDefault ?? ''}\n`
  })
  return `# Settings of the API. Copy to .env and remove the # of what you change; the environment comes before .env.
# A value carries no unit: its name does. This file is made by \`npm run docs\`.
${settings.join('')}`
}

function settingsTable() {
  const rows = Object.entries(SETTINGS).map(([name, { default: byDefault, expected, about }]) => {
    return `| \`${name}\` | ${byDefault === undefined ? '' : `\`${byDefault}\``} | ${expected} | ${about} |`
  })
  return ['| setting | default | value | what it is |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function arithmeticBlock() {
  const runs = ['sweep-batched', 'sweep-single'].map(evidence)
  const tables = runs.map(({ run, records }) => arithmeticTable(run, records))
  return [...tables, poolsThatFit(runs[0].records)].join('\n\n')
}

/**
 * @param {string} command that measures it
 * @param {(run: any, records: TrialRecord[]) => string} text
 * @param {string} [folder] of the run, where it has another name
 * @returns {(name: string) => string}
 */
function whenKept(command, text, folder) {
  return (block) => {
    const name = folder ?? block
    if (!isKept(name)) return `No run of it is kept yet; \`${command}\` measures it.`
    const { run, records } = evidence(name)
    const conditions = [settingsLine(records), whereAndWhen(run)].filter(Boolean).join('\n')
    return [text(run, records), conditions].join('\n\n')
  }
}

/** Puts text between `<!-- name -->` and `<!-- /name -->`. @param {string} page @param {string} name @param {string} text */
function withBlock(page, name, text) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [before, rest] = page.split(start)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`expected ${start} … ${end} in the page`)
  return `${before}${start}\n\n${text}\n\n${end}${after}`
}

if (argv[1] === fileURLToPath(import.meta.url)) writePages()
