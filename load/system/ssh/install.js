import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'

/** @import { Bundle } from './prepare.js' */

/**
 * Runs on the host, sent as text to its Node: writes our programs into its cache, and has npm bring the packages. A folder
 * gets its name when it is complete, so that one that is there can be used. Imports nothing of ours. When the connection ends,
 * the shell that started it ends it and npm by SIGTERM.
 */

const NPM = ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
const NPM_TIMEOUT_MS = 300_000
const BROKEN = /TAR_ENTRY_ERROR/
const OURS = /^(code|modules|vegeta)-/

/** What nobody has used for so long goes. */
const KEPT_MS = 7 * 24 * 3_600_000

/** @param {Bundle & { cache: string }} bundle cache: folder @returns {Promise<{ failed?: string }>} completes "expected …" */
export async function install({ cache, code, modules, files, packages }) {
  let what = 'Redline to be copied there'
  try {
    fs.mkdirSync(cache, { recursive: true, mode: 0o700 })
    refuseForeign(cache)
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
    return {}
  } catch (error) {
    const { code: reason, message } = /** @type {NodeJS.ErrnoException} */ (error)
    const isFull = /ENOSPC|EDQUOT|no space left/i.test(`${reason} ${message}`)
    const full = `; the disk is full: make room in ${cache}, or set XDG_CACHE_HOME there`
    return { failed: `${what}, got: ${message}${isFull ? full : ''}` }
  }
}

/** @param {string} target @param {(folder: string) => Promise<void>} fill */
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
    // Unless another lab was faster.
    if (!fs.existsSync(target)) throw error
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder */
async function bring(folder) {
  const npm = spawn('npm', NPM, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], timeout: NPM_TIMEOUT_MS })
  // Its end then ends us in order.
  process.once('SIGTERM', () => npm.kill('SIGKILL'))
  const closed = once(npm, 'close')
  const [stdout, stderr] = await Promise.all([text(npm.stdout), text(npm.stderr), closed])
  // With a full disk npm says so, leaves packages in halves, and ends with 0.
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

/** Whoever may write there has his programs run by us. @param {string} cache */
function refuseForeign(cache) {
  const { uid, mode } = fs.statSync(cache)
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return
  const found = `uid ${uid}, mode ${(mode & 0o777).toString(8)}`
  throw new Error(`${cache} has to be writable by its user alone (${found}): chmod go-w, or set XDG_CACHE_HOME there`)
}

/** @param {string} cache @param {string[]} needed */
function removeOld(cache, needed) {
  for (const name of fs.readdirSync(cache).filter((entry) => OURS.test(entry) && !needed.includes(entry))) {
    const folder = path.join(cache, name)
    // Another lab may be at it, too.
    const used_ms = fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - used_ms > KEPT_MS) fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** Of npm's many lines, those that say what was wrong. @param {string} output */
function wordsOf(output) {
  const lines = output.trim().split('\n')
  const errors = lines.flatMap((line) => /^npm (?:error|ERR!) (.*)/.exec(line)?.[1] ?? [])
  const telling = errors.filter((line) => !/A complete log of this run|^\s|debug-0\.log/.test(line))
  return telling.slice(0, 3).join('; ') || lines.find((line) => BROKEN.test(line)) || lines.at(-1) || 'npm said nothing'
}
