import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../load/command/errors.js'
import { oneOf, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { binary as vegetaBinary } from '../../../load/generators/drivers/vegeta/program.js'
import { holdFolder, makeFolder, refuseForeign } from '../../../load/run/folder.js'
import { describeMachine, redlineCommit } from '../../../load/system/machine.js'
import { nodeMajors, nodeOf } from '../../../load/system/node-versions.js'
import { startChild } from '../../../load/system/processes.js'
import { attempt } from '../../../sql/attempt.js'
import { RUNS } from './runs.js'

/**
 * @import { Action } from '../../../load/run/experiment.js'
 * @import { KeptRun } from './runs.js'
 * @import { Machine } from '../../../load/report/record.js'
 */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const CLI = path.join(ROOT, 'tuning/cli.js')
const COMMITTED = path.join(ROOT, 'tuning/evidence')
/** Exit code of a run that was refused: it measured nothing. */
const REFUSED = 2
/** The newest version with long-term support. */
const NODE_MAJOR = '26'
/** Pause between two runs: the second would otherwise find the first one's load in averages, and its closed connections in TIME_WAIT (60 s). */
const REST_MS = 65_000
/** Files of a run that are committed; the rest can be made from them. */
const COMMITTED_FILES = /^(run\.json|trials\.ndjson|report\.md|.*\.svg)$/

/** `npm run evidence`: measures all runs that the pages quote, one after the other. @param {readonly KeptRun[]} [runs] @param {number} [rest_ms] between two @returns {Action} */
export const campaignOf = (runs = RUNS, rest_ms = REST_MS) => ({
  about: 'measure everything again that the pages quote (about six hours)',
  details: `The runs, in this order: ${runs.map(({ name, minutes }) => `${name} (${minutes} min)`).join(', ')}.\nAn interrupted run continues where it stopped; a finished one is not repeated. All runs must come from one commit and one machine.`,
  flags: {
    out: { value: 'DIR', about: 'folder of the runs (default results/evidence; with --quick, results/evidence-quick)' },
    quick: switchFlag(
      'each run in its shortest form, to see that all of them work: about an hour, and nothing to adopt',
    ),
    only: { value: 'A,B', about: 'only these runs', ...someOf(runs.map(({ name }) => name)) },
    node: {
      value: 'MAJOR',
      about: `version of Node that measures (default ${NODE_MAJOR}, which is fetched)`,
      ...oneOf(nodeMajors()),
    },
    seed: seedFlag('seed of every run (default: that of its verb)'),
    adopt: switchFlag('take the finished runs of the folder into tuning/evidence, and measure nothing'),
  },
  examples: `  npm run evidence
  npm run evidence -- --only sweep-batched,sweep-single
  npm run evidence -- --adopt && npm run docs`,

  async run({ given }, { signal, progress }) {
    const { adopt: adopts, quick: isQuick = false, seed } = given
    if (adopts && isQuick) throw new UsageError('--quick: cannot be combined with --adopt, which takes whole runs')
    const folder = path.resolve(given.out ?? path.join(ROOT, `results/evidence${isQuick ? '-quick' : ''}`))
    const asked = runs.filter(({ name }) => given.only?.includes(name) ?? true)
    const ended = (/** @type {string | null} */ problem) => {
      const states = statesOf(folder, asked)
      const text = states.map(({ name, state }) => `${name}: ${state}\n`).join('')
      const run = { verb: 'evidence', folder, problem, interrupted: signal.aborted, runs: states }
      // It has no report of its own.
      return { run, text, folder: null }
    }
    refuseMixture(folder, runs, isQuick, adopts ? undefined : originOf(await redlineCommit(), describeMachine()))
    if (adopts) {
      const finished = asked.filter(({ name }) => stateOf(path.join(folder, name)) === 'finished')
      for (const { name } of finished) {
        adopt(path.join(folder, name), path.join(COMMITTED, name))
        progress.note(`adopted: ${name}`)
      }
      return ended(finished.length > 0 ? null : `expected finished runs in ${folder}, got none`)
    }
    // Without vegeta, a run that needs it would continue and leave its rows empty.
    if (asked.some(({ needsVegeta }) => needsVegeta)) vegetaBinary()
    makeFolder(folder)
    // Two campaigns would measure each other.
    holdFolder(folder, '--out')
    const node = await nodeOf(given.node ?? NODE_MAJOR)
    let hasMeasured = false
    for (const one of asked) {
      const state = stateOf(path.join(folder, one.name))
      if (state === 'finished') continue
      if (hasMeasured) await sleep(rest_ms, undefined, { signal }).catch(() => {})
      if (signal.aborted) break
      hasMeasured = true
      progress.note(`${one.name}: ${isQuick ? 'in its shortest form' : `about ${one.minutes} min`}`)
      const code = await measure(node, folder, { ...one, argv: argvOf(one, isQuick, seed) }, state, signal)
      if (code === REFUSED) return ended(`${one.name} was refused`)
    }
    const missing = statesOf(folder, asked).filter(({ state }) => state !== 'finished')
    return ended(missing.length > 0 ? `not finished: ${missing.map(({ name }) => name).join(', ')}` : null)
  },
})

/** The command line of a run. @param {KeptRun} run @param {boolean} isQuick @param {number} [seed] by default that of its verb */
export function argvOf({ argv, whole = [] }, isQuick, seed) {
  return [...argv, ...(isQuick ? ['--quick'] : whole), ...(seed === undefined ? [] : ['--seed', String(seed)])]
}

/** @param {string} node @param {string} folder @param {KeptRun} run @param {State} state @param {AbortSignal} signal */
async function measure(node, folder, { name, argv: [verb, ...flags], env, sides = {} }, state, signal) {
  const out = path.join(folder, name)
  if (state === 'unusable') rmSync(out, { recursive: true })
  for (const [file, text] of Object.entries(sides)) writeFileSync(path.join(folder, file), text)
  const where = state === 'cut off' ? ['--resume', out] : [...flags, '--out', out]
  // A process group of its own lets Ctrl-C reach the run once, through us: a second signal would kill it before it is recorded. If we
  // end first, by kill -9 or by a second signal to us, the run is interrupted, too: the next campaign must not measure beside it.
  const { child, exited } = startChild([node, CLI, verb, ...where], {
    cores: null,
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
    leash: 'INT',
  })
  const end = () => child.kill('SIGINT')
  signal.addEventListener('abort', end, { once: true })
  const { code } = await exited
  signal.removeEventListener('abort', end)
  return code
}

/** @typedef {'missing' | 'unusable' | 'cut off' | 'finished'} State unusable: it measured nothing, or has no trustworthy answer */

/** @param {string} folder of a run @returns {State} @throws {UsageError} if the folder is somebody else's: it would be removed */
function stateOf(folder) {
  const file = path.join(folder, 'run.json')
  if (!existsSync(file)) {
    refuseForeign(folder)
    return existsSync(folder) ? 'unusable' : 'missing'
  }
  const { verb, interrupted, finished_at, problem, versions, ...others } = runIn(folder)
  // The run.json of a run that has not begun is an empty object.
  if (!verb && Object.keys(others).length > 0) refuseForeign(folder)
  if (!versions) return 'unusable'
  if (interrupted || !finished_at) return 'cut off'
  return problem ? 'unusable' : 'finished'
}

/** The content of a run.json. @param {string} folder @returns {any} @throws {UsageError} if it is damaged: it may hold hours of measurements */
function runIn(folder) {
  const file = path.join(folder, 'run.json')
  const run = attempt(() => JSON.parse(readFileSync(file, 'utf8')), null)
  if (run?.constructor === Object && Boolean(run.versions) === Boolean(run.machine)) return run
  throw new UsageError(`--out: expected a run of Redline in ${file}, got a damaged file: move its folder away`)
}

/** @param {string} folder @param {KeptRun[]} runs */
function statesOf(folder, runs) {
  return runs.map(({ name }) => ({ name, state: stateOf(path.join(folder, name)) }))
}

/**
 * Runs that are shown side by side must come from one commit and one machine: the given ones or, without them, those of the first run.
 * Short ones are for no page.
 * @param {string} folder @param {readonly KeptRun[]} runs @param {boolean} isQuick @param {string} [given] from originOf @throws {UsageError}
 */
function refuseMixture(folder, runs, isQuick, given) {
  let expected = given
  for (const { name } of runs) {
    const own = path.join(folder, name)
    if (['missing', 'unusable'].includes(stateOf(own))) continue
    const { versions, machine, argv = [] } = runIn(own)
    if (argv.includes('--quick') !== isQuick) {
      const [form, got] = isQuick ? ['short', 'a whole'] : ['whole', 'a short']
      throw new UsageError(`--out: expected ${form} runs in ${folder}, got ${got} one (${name}); use another folder`)
    }
    const origin = originOf(versions.redline_commit, machine)
    expected ??= origin
    if (origin === expected) continue
    throw new UsageError(
      `--out: expected runs of ${expected} in ${folder}, got one of ${origin} (${name}); go on there, or begin in another folder`,
    )
  }
}

/** Kernels and sizes of memory may differ between two starts of one machine. @param {string | null} commit @param {Machine} machine */
const originOf = (commit, { cpu_model, cores }) => `commit ${commit} on ${cpu_model} with ${cores} cores`

/** @param {string} from @param {string} to */
function adopt(from, to) {
  rmSync(to, { recursive: true, force: true })
  const isCommitted = (/** @type {string} */ file) => file === from || COMMITTED_FILES.test(path.basename(file))
  cpSync(from, to, { recursive: true, filter: isCommitted })
}
