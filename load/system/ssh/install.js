import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'

/** @import { Bundle } from './prepare.js' */

/**
 * Installer that is sent to the host's Node as text, so it imports nothing of ours. It writes our programs into the cache, and has npm
 * fetch the packages. A folder gets its name when it is complete. When the connection ends, the shell sends this program SIGTERM.
 */

const NPM = ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
const NPM_TIMEOUT_MS = 300_000
const BROKEN = /TAR_ENTRY_ERROR/
const OURS = /^(code|modules|vegeta)-/
/** Copies that have been unused for this long are removed. */
const KEPT_MS = 7 * 24 * 3_600_000

/** Installs a bundle. On failure, exits with 1 and prints what completes "expected …". @param {string} cache folder @param {Bundle} bundle */
export async function install(cache, { code, modules, files, packages }) {
  let what = 'Redline to be copied there'
  try {
    fs.mkdirSync(cache, { recursive: true, mode: 0o700 })
    removeOld(cache, [code, modules])
    await complete(path.join(cache, modules), async (folder) => {
      write(folder, packages)
      what = 'npm ci to bring the packages there'
      await bring(folder)
    })
    what = 'Redline to be copied there'
    await complete(path.join(cache, code), async (folder) => {
      write(folder, files)
      fs.symlinkSync(path.join('..', modules, 'node_modules'), path.join(folder, 'node_modules'))
    })
  } catch (error) {
    const { code: reason, message } = /** @type {NodeJS.ErrnoException} */ (error)
    const isFull = /ENOSPC|EDQUOT|no space left/i.test(`${reason} ${message}`)
    const full = `; the disk is full: make room in ${cache}, or set XDG_CACHE_HOME there`
    console.error(`${what}, got: ${message}${isFull ? full : ''}`)
    process.exitCode = 1
  }
}

/** @param {string} target @param {(folder: string) => Promise<void> | void} fill */
async function complete(target, fill) {
  const folder = `${target}.${process.pid}`
  try {
    if (!fs.existsSync(target)) {
      fs.mkdirSync(folder)
      await fill(folder)
      fs.renameSync(folder, target)
    }
    fs.utimesSync(target, new Date(), new Date())
  } catch (error) {
    // Another lab may have been faster.
    if (!fs.existsSync(target)) throw error
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder */
async function bring(folder) {
  const npm = spawn('npm', NPM, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: NPM_TIMEOUT_MS })
  // When npm has ended, we clean up and exit.
  process.once('SIGTERM', () => npm.kill('SIGKILL'))
  const closed = once(npm, 'close')
  const [stdout, stderr] = await Promise.all([text(npm.stdout), text(npm.stderr), closed])
  // On a full disk, npm reports it, leaves incomplete packages, and still exits with 0.
  if (npm.exitCode !== 0 || BROKEN.test(stderr)) throw new Error(wordsOf(`${stdout}\n${stderr}`))
}

/** @param {string} folder @param {Record<string, string>} files */
function write(folder, files) {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content)
  }
}

/** @param {string} cache @param {string[]} needed */
function removeOld(cache, needed) {
  for (const name of fs.readdirSync(cache).filter((entry) => OURS.test(entry) && !needed.includes(entry))) {
    const folder = path.join(cache, name)
    // Another lab may be removing it too.
    const used_ms = fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - used_ms > KEPT_MS) fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** The lines of npm's output that say what went wrong. @param {string} output */
function wordsOf(output) {
  const lines = output.trim().split('\n')
  const errors = lines.flatMap((line) => /^npm (?:error|ERR!) (.*)/.exec(line)?.[1] ?? [])
  const telling = errors.filter((line) => !/A complete log of this run|^\s|debug-0\.log/.test(line))
  return telling.slice(0, 3).join('; ') || lines.find((line) => BROKEN.test(line)) || lines.at(-1) || 'npm said nothing'
}
