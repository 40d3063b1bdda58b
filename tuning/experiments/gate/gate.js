import { rmSync } from 'node:fs'
import path from 'node:path'
import { numberFlag, percentFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { urlFlag } from '../../../load/command/references.js'
import { MIX_FLAGS, mixOf } from '../../../load/generators/mix-flags.js'
import { refuse } from '../../../load/run/misfits.js'
import { localPlan, PLAN_FLAGS } from '../../../load/run/plan.js'
import { checkOut } from '../../../load/targets/checkouts.js'
import { stopSideBySide } from '../../../load/targets/side-by-side.js'
import { blocksDuration, design, MOST_BLOCKS } from './design.js'
import { findingsOf } from './findings.js'
import { refWarnings, workingTree } from './refs.js'
import { commentOf, gateReport } from './report.js'
import { openService } from './services.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Checkouts } from '../../../load/targets/checkouts.js'
 * @import { GatePlan } from './design.js'
 * @import { GateFindings } from './findings.js'
 */

const DEFAULTS = { blocks: 24, tolerance: 2, path: '/', seed: 1 }
const QUICK_BLOCKS = 3
const pidFlag = (/** @type {string} */ about) => ({ ...PLAN_FLAGS.pid, multiple: false, about })

/** Checkouts of the plans that name refs. @typedef {Checkouts & { profiles: string }} GateCheckouts @type {WeakMap<GatePlan, GateCheckouts>} */
const checkouts = new WeakMap()

/** Did a change cost capacity? @type {Experiment<GatePlan, GateFindings>} */
export const gate = {
  name: 'gate',
  about: 'did this change cost capacity? Exit code 0: no; 1: yes; 3: undecided',
  details:
    "Two copies of each version run side by side: the difference between two equal copies is this machine's noise\ntoday. All are loaded at once for the CPU per request, and in turn for the rest. The gate ends as soon as the answer is known.",
  flags: {
    base: { value: 'REF', about: 'commit, branch or tag of the git repository in this folder to compare with' },
    head: { value: 'REF', about: 'the changed commit, branch or tag (default HEAD)' },
    build: {
      value: 'COMMAND',
      about:
        "command that builds a checkout, such as 'npm ci' (default: none; for the local API, it installs the packages)",
    },
    start: {
      value: 'COMMAND',
      about:
        'command that starts a checkout, which must listen on the PORT in its environment (default: the local API)',
      shown: PLAN_FLAGS.start.shown,
    },
    path: {
      value: 'PATH',
      about: `path of the requests to --start's service (default ${DEFAULTS.path})`,
      parse: (text) => (/^\/[\x21-\x7e]*$/.test(text) ? text : undefined),
      expected: 'a path that begins with /',
    },
    'url-base': urlFlag('url-base', 'a running service instead of --base'),
    'url-head': urlFlag('url-head', 'a running service instead of --head'),
    'pid-base': pidFlag('process of --url-base, to judge the CPU per request (default: judge the throughput)'),
    'pid-head': pidFlag('process of --url-head'),
    tolerance: percentFlag(`accepted loss in percent (default ${DEFAULTS.tolerance})`),
    'allow-undecided': switchFlag('exit code 0 also for an undecided answer'),
    blocks: numberFlag(`maximum number of starts of each side (default ${DEFAULTS.blocks})`, 3, MOST_BLOCKS),
    quick: switchFlag(`at most ${QUICK_BLOCKS} blocks: under two minutes`),
    ...MIX_FLAGS,
    method: { ...MIX_FLAGS.method, about: 'HTTP method (default GET; for the local API, or with --body, POST)' },
    seed: seedFlag(`seed of the order and the requests (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run gate -- --base main                          the local API; two to nine minutes
  npm run gate -- --base main --head HEAD --build 'npm ci' --start 'node server.js' --path /orders
  npm run gate -- --url-base http://127.0.0.1:8080/ --url-head http://127.0.0.1:8081/ --pid-base 4711 --pid-head 4712`,
  plan: planOf,
  size: (plan) =>
    `at most ${plan.blocks} blocks: ${Math.ceil(blocksDuration(plan) / 60)} min, less where the answer is clear`,
  async prepare(plan, { results, run }, { signal, progress }) {
    const { base, head } = plan.sides
    if (base.ref === null || head.ref === null) return {}
    const how = { build: plan.build, isOurs: !plan.start, signal, note: progress.note }
    // Branches move: a resumed run goes on with the commits that it began with.
    const refs = { base: base.ref, head: head.ref, ...run.commits }
    // A resumed run keeps the warnings found when it began.
    const tree = run.warnings ? null : await workingTree(signal)
    const found = { ...(await checkOut(refs, how)), profiles: path.resolve(results.file('profiles')) }
    checkouts.set(plan, found)
    const known = { commits: found.commits, checkouts: found.paths, profiles: found.profiles }
    if (!tree) return known
    const warnings = refWarnings(found.commits, tree)
    for (const text of warnings) progress.note(`warning: ${text}`)
    return { ...known, warnings }
  },
  design,
  open: (cell, place, plan) => openService(/** @type {any} */ (cell), place, plan, checkouts.get(plan)),
  async close(place, plan) {
    await stopSideBySide(place)
    const { folder } = checkouts.get(plan) ?? {}
    if (folder) rmSync(folder, { recursive: true, force: true })
  },
  analyse: findingsOf,
  report: gateReport,
  files: (findings, run) => ({ 'comment.md': commentOf(findings, run) }),
}

/** @param {Record<string, any>} flags @returns {GatePlan} */
function planOf(flags) {
  const { base, head = 'HEAD', start, build = null, 'url-base': urlBase, 'url-head': urlHead } = flags
  const hasUrls = urlBase !== undefined || urlHead !== undefined
  refuse({
    '--base: expected a commit, branch or tag to compare with, such as main, or --url-base, got neither':
      !hasUrls && base === undefined,
    '--url-base: requires --url-head, and the other way round': hasUrls && !(urlBase && urlHead),
    '--url-base: cannot be combined with --base, --head, --start or --build':
      hasUrls && [base, flags.head, start, flags.build].some((one) => one !== undefined),
    '--pid-base: requires --url-base; what is started here is known':
      !hasUrls && (flags['pid-base'] || flags['pid-head']),
    '--pid-base: requires --pid-head, and the other way round':
      (flags['pid-base'] === undefined) !== (flags['pid-head'] === undefined),
    '--path: requires --start': flags.path !== undefined && !start,
  })
  const { path, tolerance, seed, blocks } = { ...DEFAULTS, ...(flags.quick && { blocks: QUICK_BLOCKS }), ...flags }
  const isOurs = !hasUrls && !start
  const isTold = ['method', 'body', 'mix'].some((name) => flags[name] !== undefined)
  return {
    ...localPlan({ seed, duration_s: 1 }),
    mix: mixOf({ ...flags, seed, ...(!isOurs && !isTold && { method: 'GET' }) }),
    // A database is needed only if the API is ours.
    url: isOurs ? null : (urlBase ?? `http://127.0.0.1${path}`),
    sides: {
      base: { ref: hasUrls ? null : base, url: urlBase ?? null, pid: flags['pid-base'] ?? null },
      head: { ref: hasUrls ? null : head, url: urlHead ?? null, pid: flags['pid-head'] ?? null },
    },
    ...(start && { start }),
    ...{ build, path, tolerance_ratio: tolerance / 100, blocks, allows_undecided: flags['allow-undecided'] === true },
  }
}
