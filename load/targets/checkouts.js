import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { makeScratch } from '../../sql/scratch.js'
import { UsageError } from '../command/errors.js'
import { freePorts } from '../system/ports.js'
import { collect, killGroup, startChild } from '../system/processes.js'
import { openLocal, openStarted } from './index.js'

/** @import { Place } from './index.js' */

const execute = promisify(execFile)
const BUILD_TIMEOUT_MS = 600_000
const LAST_WORDS_MS = 1000
const COMPILE_EARLY = new URL('../probes/compile-early.js', import.meta.url).href
/** Build command of the local API, whose packages need no scripts. */
const NPM_CI = 'npm ci --ignore-scripts --omit=optional --no-audit --no-fund'

/** @type {Set<string>} folders to be removed when this process exits, whatever happens to the run */
const folders = new Set()
process.once('exit', () => [...folders].map(remove))

/**
 * Checks each ref out into a folder of its own and builds it there. The repository itself stays untouched: a checkout is a clone that
 * borrows its objects.
 * @param {Record<string, string>} refs by side @param {{ build: string | null, isOurs: boolean, signal: AbortSignal, note: (text: string) => void }} how
 *   build: command for the shell; isOurs: the refs hold this API
 * @returns {Promise<Checkouts>} @throws {UsageError} for a ref that does not exist, or cannot be built
 * @typedef {{ folder: string, paths: Record<string, string>, commits: Record<string, string> }} Checkouts folder: of all of them; to be removed
 */
export async function checkOut(refs, { build, isOurs, signal, note }) {
  const root = await git(['rev-parse', '--show-toplevel'], signal)
  const folder = makeScratch('gate', '/var/tmp')
  folders.add(folder)
  /** @type {Checkouts} */
  const found = { folder, paths: {}, commits: {} }
  try {
    // A misspelt ref must not cost the build of the other one.
    for (const [side, ref] of Object.entries(refs)) found.commits[side] = await commitOf(ref, side, signal)
    for (const [side, ref] of Object.entries(refs)) {
      const commit = found.commits[side]
      const own = path.join(folder, side)
      note(`${side}: checking out ${ref} (${commit.slice(0, 7)}) …`)
      await git(['clone', '--quiet', '--shared', '--no-checkout', root, own], signal)
      await git(['-C', own, 'checkout', '--quiet', '--detach', commit], signal)
      if (isOurs && !existsSync(path.join(own, 'api/server.js'))) {
        throw new UsageError(
          `--${side}: expected --start COMMAND, since ${ref} has no api/server.js to be started, got none`,
        )
      }
      const command = build ?? (isOurs && !linkPackages(root, own) ? NPM_CI : null)
      if (command) await run(command, own, { side, signal, note })
      found.paths[side] = own
    }
    return found
  } catch (error) {
    remove(folder)
    throw error
  }
}

/** @param {string} folder */
function remove(folder) {
  rmSync(folder, { recursive: true, force: true })
  folders.delete(folder)
}

/**
 * Starts what was checked out: the local API, or the command of a service, with a free PORT.
 * @param {Place} place @param {string} root of the checkout
 * @param {{ start?: string, path: string, preloads?: string[] }} service path: of the requests; preloads: URLs of modules that a Node
 *   program loads first, in addition to the one by which it compiles early
 */
export async function openCheckout(place, root, { start, path: requestPath, preloads = [] }) {
  const options = [COMPILE_EARLY, ...preloads].map((url) => `--import=${url}`)
  const env = { ...place.env, NODE_OPTIONS: [place.env.NODE_OPTIONS, ...options].filter(Boolean).join(' ') }
  if (!start) return openLocal({ ...place, env, root })
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}${requestPath}`
  return openStarted({ ...place, start, url, cwd: root, env: { ...env, PORT: String(port) } })
}

/** Links the repository's packages if the lock files agree. @param {string} root @param {string} own @returns {boolean} whether it did */
function linkPackages(root, own) {
  const [ours, its] = [root, own].map((folder) => path.join(folder, 'package-lock.json'))
  const packages = path.join(root, 'node_modules')
  const isSame = [ours, its, packages].every(existsSync) && readFileSync(ours, 'utf8') === readFileSync(its, 'utf8')
  if (isSame) symlinkSync(packages, path.join(own, 'node_modules'))
  return isSame
}

/** @param {string} command @param {string} cwd @param {{ side: string, signal: AbortSignal, note: (text: string) => void }} how */
async function run(command, cwd, { side, signal, note }) {
  signal.throwIfAborted()
  note(`${side}: ${command} …`)
  const { child } = startChild(['sh', '-c', command], { cores: null, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  const timeout = AbortSignal.timeout(BUILD_TIMEOUT_MS)
  const cut = AbortSignal.any([signal, timeout])
  const kill = () => killGroup(child)
  cut.addEventListener('abort', kill)
  const closed = once(child, 'close')
  const [code, killed] = await once(child, 'exit').finally(() => cut.removeEventListener('abort', kill))
  // All that the command has started ends with it; what has left its group may still hold the pipes.
  kill()
  await Promise.race([closed, setTimeout(LAST_WORDS_MS, undefined, { ref: false })])
  for (const pipe of [child.stdout, child.stderr]) pipe?.destroy()
  signal.throwIfAborted()
  if (code === 0) return
  const ended = killed ? `its end by ${killed}` : `exit code ${code}`
  const otherwise = timeout.aborted ? `no end within ${BUILD_TIMEOUT_MS / 1000} s` : ended
  const lines = (stderr() || stdout() || otherwise).trim().split('\n')
  const words = lines.slice(-2).join(' ')
  throw new UsageError(`--build: expected "${command}" to succeed for --${side}, got: ${words}`)
}

/** @param {string} ref @param {string} side @param {AbortSignal} signal @throws {UsageError} if there is none */
async function commitOf(ref, side, signal) {
  const asked = ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`]
  return git(asked, signal, { flag: `--${side}`, got: ` ${ref}` })
}

/** @param {string[]} args @param {AbortSignal} signal @param {{ flag: string, got: string }} [about] for the message @returns {Promise<string>} */
async function git(args, signal, { flag, got } = { flag: '--base, --head', got: '' }) {
  try {
    return (await execute('git', args, { signal })).stdout.trim()
  } catch (error) {
    signal.throwIfAborted()
    const problem = problemAndAdvice(error)
    throw new UsageError(`${flag}: expected refs of the git repository in this folder, got${got}: ${problem}`)
  }
}

/** The first line of git's error names the problem; what to do about it is in the last. @param {any} error */
function problemAndAdvice({ stderr, message }) {
  const text = String(stderr || message)
  const lines = text.trim().split(/\s*\n\s*/)
  const problem = lines.find((line) => line.startsWith('fatal:')) ?? lines[0]
  return [...new Set([problem, lines[lines.length - 1]])].join('; ')
}
