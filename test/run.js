import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { SETTINGS } from '../api/settings.js'
import { initialiseIn } from '../sql/embedded.js'
import { makeScratch } from '../sql/scratch.js'
import { dataParent } from './support/data-parent.js'
import { startShared } from './support/postgres.js'
import { SYSTEM_BUNDLES } from './support/system-bundles.js'

/**
 * `node test/run.js [TIER | FILE | flag of tap]…`: runs test files under tap, beside one Postgres that they share. `npm test`
 * runs unit and system; files given on its command line are run instead. A value of a flag goes into the same word (--jobs=2).
 */
const TIERS = ['unit', 'system', 'lab']
/** Has tap start test files without what they do not need. */
const PLAIN_TESTS = new URL('support/plain-tests.js', import.meta.url)
const given = process.argv.slice(2)
const isFile = (/** @type {string} */ word) => !TIERS.includes(word) && !word.startsWith('-')
const tiers = given.some(isFile) ? [] : given.filter((word) => TIERS.includes(word))
const rest = given.filter((word) => !TIERS.includes(word))

process.exitCode = await main()

async function main() {
  if (tiers.join() === 'unit') return runTap({})
  const folder = makeScratch('tests', dataParent())
  try {
    const initialised = await initialiseIn(folder)
    const postgres = await startShared(initialised)
    try {
      return await runTap({ REDLINE_TEST_POSTGRES: JSON.stringify({ url: postgres.url, initialised }) })
    } finally {
      await postgres.halt('SIGQUIT')
      await postgres.stop()
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {Record<string, string>} env @returns {Promise<number>} exit code */
async function runTap(env) {
  const tap = path.join(path.dirname(createRequire(import.meta.url).resolve('tap/package.json')), 'dist/esm/run.mjs')
  // The tests of the lab's load measure; two at once would measure each other.
  const isLab = tiers.includes('lab') || rest.some((word) => /^(\.\/)?test\/lab\//.test(word))
  const jobs = isLab ? ['--jobs=1'] : []
  const child = spawn(process.execPath, [`--import=${PLAIN_TESTS}`, tap, ...jobs, ...tiers.flatMap(filesOf), ...rest], {
    env: { ...inherited(), ...env },
    stdio: 'inherit',
  })
  // tap ends what it runs by itself; this process has to live on to stop Postgres.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'close')
  return code ?? 1
}

/** Unit tests run many to a process, and so do most system tests; all others have one each. @param {string} tier */
function filesOf(tier) {
  if (tier === 'unit')
    return ['test/bundles', 'test/unit/api/simulation.test.js', 'test/unit/api/nth-statement.test.js']
  if (tier === 'system') return ['test/system-bundles', ...unbundled()]
  return [`test/${tier}`]
}

function unbundled() {
  const bundled = Object.values(SYSTEM_BUNDLES).flat()
  return fs
    .readdirSync('test/system', { recursive: true, encoding: 'utf8' })
    .map((name) => path.join('test/system', name))
    .filter((file) => file.endsWith('.test.js') && !bundled.includes(file))
}

/** Tests start from the defaults and in no repository, whatever the shell, or the hook of git, that runs them has set. */
function inherited() {
  const isSetting = (/** @type {string} */ name) => Object.hasOwn(SETTINGS, name) || /^(?:PG[A-Z]+$|GIT_)/.test(name)
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)))
}
