import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from '../../api/settings.js'
import { list, paragraph, table } from '../../load/report/blocks.js'
import { markdownOf } from '../../load/report/markdown.js'
import { proofPicture } from '../../load/report/proof.js'
import { conditionsOf, settingsText } from '../../load/run/conditions.js'
import { sweepItems } from '../../load/verbs/sweep/answer.js'
import { proofItems } from '../../load/verbs/sweep/proof.js'
import { budgetBlocks } from '../experiments/ablate/budget-report.js'
import { ratioBlocks } from '../experiments/ablate/speeds.js'
import { claimsBlocks, failingBlocks, overheadBlocks, strategyBlocks } from '../experiments/balance/report.js'
import { CLAIMS } from '../experiments/playbook/claims.js'
import { claimsTable, littleTable, nodesTable, summaryTable } from '../experiments/playbook/report.js'
import { byLoadBlocks } from '../experiments/tune/by-load.js'
import { effectsTable } from '../experiments/tune/report.js'
import { EXERCISES } from '../workshop/exercises/index.js'
import { exercisePage, exercisesTable, keyPage } from '../workshop/pages.js'
import { pricesBlocks } from './ec2.js'
import { EVIDENCE, evidence, imageOf, keptReports } from './evidence/evidence.js'
import { answerBlocks, frameworksBlocks, headlineBlocks } from './front.js'
import { arithmeticBlocks } from './more-cores.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Result } from '../experiments/playbook/results.js'
 * @import { Evidence } from './evidence/evidence.js'
 */

/**
 * @typedef {(string | Part)[]} Parts blocks of a run's report, by kind or name, or blocks that are made from the run
 * @typedef {Parts | { run: string, of: Parts }} Quote a page's quote of a committed run; run: its folder, if it has not the name of the
 *   block
 * @typedef {(evidence: Evidence) => Block[]} Part
 */

/** @type {Part} */
const EVERY_TRIAL = ({ folder }) => [paragraph(`[Every trial of this run](${EVIDENCE}${folder}/report.md).`)]

/** PgBouncer's version, which the cells with a PgBouncer report. @type {Part} */
const PGBOUNCER = ({ records }) => {
  const versions = new Set(records.flatMap(({ settings }) => settings.PGBOUNCER ?? []))
  return [paragraph(`PgBouncer ${[...versions].join(', ')}.`)]
}

/** The bars of a proof. @type {Part} */
const DOSES = ({ findings, folder }) => {
  const picture = proofPicture(findings)
  return picture ? imageOf(folder, picture) : []
}

/** @type {Part} */
const CONDITIONS = ({ run, records }) => [list(conditionsOf(run, records))]

/** @type {Part} */
const SETTINGS_TOO = ({ run, records }) => [list([settingsText(records) || [], conditionsOf(run, records)].flat())]

/** A report without its answer, pictures and method. @type {Part} */
const FIGURES = ({ report }) => report.filter(({ kind }) => ['text', 'list', 'table'].includes(kind))

/** @type {Quote} */
const SWEEP = [
  ({ findings }) => [list([...sweepItems(findings), ...proofItems(findings)])],
  DOSES,
  EVERY_TRIAL,
  SETTINGS_TOO,
]

/** @type {Quote} */
const LOADS = ['loads', EVERY_TRIAL, SETTINGS_TOO]

/** Each page, and its generated blocks, by the name in `<!-- name -->` and `<!-- /name -->`. @type {Record<string, Record<string, Quote | (() => Block[])>>} */
const PAGES = {
  'README.md': { headline: headlineBlocks, answer: answerBlocks, frameworks: frameworksBlocks },
  'api/README.md': { settings: () => [settingsTable()] },
  'tuning/README.md': { 'sweep-batched': SWEEP, 'sweep-single': SWEEP },
  'tuning/experiments/ablate/README.md': {
    ablate: [
      'answer',
      ({ findings }) => budgetBlocks(findings, 'cpu'),
      ({ findings }) => ratioBlocks(findings.closed),
      EVERY_TRIAL,
      SETTINGS_TOO,
    ],
  },
  'tuning/experiments/balance/README.md': {
    balance: [
      ({ findings }) => findings.sentences.map(paragraph),
      ({ findings }) => strategyBlocks(findings, 'strategies'),
      ({ findings }) => [...failingBlocks(findings), ...overheadBlocks(findings), ...claimsBlocks(findings)],
      EVERY_TRIAL,
      CONDITIONS,
    ],
  },
  'tuning/experiments/bench/README.md': { bench: [FIGURES, EVERY_TRIAL, CONDITIONS] },
  'tuning/experiments/compare/README.md': { compare: ['answer', 'list', 'differences', EVERY_TRIAL, CONDITIONS] },
  'tuning/experiments/faults/README.md': { faults: ['named', 'dosed', 'answer', EVERY_TRIAL, CONDITIONS] },
  'tuning/experiments/overload/README.md': { overload: LOADS, 'overload-far': LOADS },
  'tuning/experiments/playbook/README.md': {
    knobs: { run: 'playbook', of: ['answer', ({ findings }) => [summaryTable(findings.results)], CONDITIONS] },
  },
  'tuning/experiments/ramp/README.md': { ramp: ['answer', 'rungs', EVERY_TRIAL, CONDITIONS] },
  'tuning/experiments/soak/README.md': { soak: ['answer', EVERY_TRIAL, CONDITIONS] },
  'tuning/experiments/tune/README.md': {
    tune: [
      'answer',
      'list',
      () => [paragraph('**Recommended settings**:')],
      'recommended',
      ({ findings }) => byLoadBlocks(findings.by_load, findings.reasons),
      'cells',
      EVERY_TRIAL,
      CONDITIONS,
    ],
  },
  'tuning/SCALING.md': {
    processes: ['answer', FIGURES, EVERY_TRIAL, SETTINGS_TOO],
    pgbouncer: ['cells', PGBOUNCER, SETTINGS_TOO],
    arithmetic: () => arithmeticBlocks(['sweep-batched', 'sweep-single'].map(evidence)),
  },
  'tuning/PLAYBOOK.md': {
    verdicts: { run: 'playbook', of: ['answer', CONDITIONS] },
    little: { run: 'playbook', of: [({ findings }) => [littleTable(findings)]] },
    nodes: { run: 'playbook', of: [({ findings }) => [nodesTable(findings)]] },
    growth: [
      ({ findings }) => [effectsTable(findings, ['goodput', 'p99', 'cpu', 'postgres-cpu', 'wal'])],
      'cells',
      EVERY_TRIAL,
      SETTINGS_TOO,
    ],
    article: [FIGURES, CONDITIONS],
    ...Object.fromEntries(CLAIMS.map(({ chapter }) => [chapter, claimsOf(chapter)])),
  },
  'tuning/ec2/RUNBOOK.md': { prices: pricesBlocks },
  'tuning/workshop/TEACHER.md': { exercises: () => [exercisesTable()] },
}

/**
 * Contents of the files that `npm run docs` writes: pages that quote the committed evidence, so that no figure in them is typed by hand;
 * the API's settings; and the pages of the workshop.
 */
export function pages() {
  const quoting = Object.entries(PAGES).map(([name, blocks]) => {
    const file = inRepository(name)
    const evidencePath = `${path.posix.relative(path.posix.dirname(name), EVIDENCE)}/`
    const texts = Object.entries(blocks).map(([block, quote]) => {
      return [block, markdownOf(quoted(block, quote)).replaceAll(`](${EVIDENCE}`, `](${evidencePath}`)]
    })
    return [file, texts.reduce((page, [block, text]) => withBlock(page, block, text), readFileSync(file, 'utf8'))]
  })
  const exercises = EXERCISES.map((exercise) => {
    return [inRepository(`tuning/workshop/pages/${exercise.name}.md`), exercisePage(exercise)]
  })
  const whole = [
    [inRepository('.env.example'), envExample()],
    [inRepository('tuning/workshop/KEY.md'), keyPage()],
  ]
  return Object.fromEntries([...whole, ...quoting, ...exercises])
}

/** @param {string} name */
function inRepository(name) {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url))
}

/** The claims of a chapter of the playbook. @param {string} chapter @returns {Quote} */
function claimsOf(chapter) {
  const isIn = (/** @type {Result} */ claim) => claim.chapter === chapter
  return {
    run: 'playbook',
    of: [({ findings, run }) => [claimsTable(findings.results.filter(isIn)), paragraph(`Run ${run.run_id}.`)]],
  }
}

/** @param {string} block @param {Quote | (() => Block[])} quote */
function quoted(block, quote) {
  if (typeof quote === 'function') return quote()
  const { run, of } = Array.isArray(quote) ? { run: block, of: quote } : quote
  const found = evidence(run)
  return of.flatMap((part) => (typeof part === 'string' ? named(found.report, part) : part(found)))
}

/** @param {Block[]} report @param {string} name */
function named(report, name) {
  const found = report.find((block) => block.kind === name || ('name' in block && block.name === name))
  if (!found) throw new Error(`expected a table "${name}" in the report`)
  return found
}

function envExample() {
  const settings = Object.entries(SETTINGS).map(([name, { default: byDefault = '', expected, about }]) => {
    return `\n# ${about}\n# Expected: ${expected}\n#${name}=${byDefault}\n`
  })
  return `# Settings of the API. Copy this file to .env and remove the # from what you change; the environment overrides .env.
# Write values without a unit: the unit is in the name. This file is generated by \`npm run docs\`.
${settings.join('')}`
}

function settingsTable() {
  const rows = Object.entries(SETTINGS).map(([name, { default: byDefault, expected, about }]) => {
    return [`\`${name}\``, byDefault === undefined ? '' : `\`${byDefault}\``, expected, about]
  })
  return table(['setting', 'default', 'value', 'what it is'], rows, { align: ['l', 'l', 'l', 'l'] })
}

/** Puts text between `<!-- name -->` and `<!-- /name -->`. @param {string} page @param {string} name @param {string} text */
function withBlock(page, name, text) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`]
  const [before, rest] = page.split(start)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`expected ${start} … ${end} in the page`)
  return `${before}${start}\n\n${text}\n\n${end}${after}`
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of Object.entries({ ...pages(), ...(await keptReports()) })) writeFileSync(file, text)
}
