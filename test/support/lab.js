import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { leashed } from '../../sql/leash.js'
import { until } from './until.js'

/** @import { ChildProcess } from 'node:child_process' */

/** Verbs of load/cli.js; tuning/cli.js has the others. */
const IN_LOAD = ['sweep', 'doctor']

/** Beyond it a program hangs; tap gives a file 300 s. */
const DEADLINE_MS = 240_000

const STOP_AT = new URL('stop-at.js', import.meta.url)

/**
 * Runs a verb as a program.
 * @param {string[]} argv
 * @param {Record<string, string | undefined>} [env] undefined takes a variable away
 * @param {{ cwd?: string, deadline_ms?: number, stopsAt?: string }} [options] cwd: the folder it runs in, whose `.env` it reads;
 *   stopsAt: the program stands still once it has written a line on stderr that begins so, until SIGCONT
 * @returns {{ child: ChildProcess, ended: Promise<{ code: number | null, stdout: string, stderr: string }>, stderrHas: (text: string) => Promise<void> }}
 */
export function startLab(argv, env = {}, { cwd, deadline_ms = DEADLINE_MS, stopsAt } = {}) {
  const merged = Object.entries({ ...process.env, DATABASE_URL: undefined, ...env }).filter(
    ([, value]) => value !== undefined,
  )
  const folder = IN_LOAD.includes(argv[0]) ? 'load' : 'tuning'
  const program = fileURLToPath(new URL(`../../${folder}/cli.js`, import.meta.url))
  const flags = stopsAt === undefined ? [] : [`--import=${STOP_AT}?words=${encodeURIComponent(stopsAt)}`]
  // One that stands still would outlive a test that is killed.
  const [command, ...args] = leashed([process.execPath, ...flags, program, ...argv], { signal: 'KILL' })
  const child = spawn(command, args, { cwd, env: Object.fromEntries(merged) })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const output = { stdout: '', stderr: '' }
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name].on('data', (chunk) => {
      output[name] += chunk
    })
  }
  const ended = new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      kill()
      reject(new Error(`expected "${argv.join(' ')}" to end within ${deadline_ms} ms: ${output.stderr}`))
    }, deadline_ms)
    child.once('close', (code) => {
      clearTimeout(timer)
      process.off('exit', kill)
      resolve({ code, ...output })
    })
  })
  ended.catch(() => {})
  return {
    child,
    ended: /** @type {any} */ (ended),
    stderrHas: async (text) => {
      const isOver = () => child.exitCode !== null || child.signalCode !== null
      await until(`"${text}" on stderr`, () => output.stderr.includes(text) || isOver(), deadline_ms)
      if (!output.stderr.includes(text)) throw new Error(`ended before "${text}": ${output.stderr}`)
    },
  }
}

/**
 * Runs a verb of tuning/ as a program, to its end.
 * @param {string} verb
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export async function runVerb(verb, args, env = process.env) {
  const child = spawn(process.execPath, ['tuning/cli.js', verb, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = [child.stdout, child.stderr].map(async (stream) => Buffer.concat(await stream.toArray()).toString())
  const [status] = await once(child, 'close')
  const [stdout, stderr] = await Promise.all(texts)
  return { status, stdout, stderr }
}

/** A folder that everybody may enter, so that Postgres can run in it for root. @param {any} t */
export function temporaryFolder(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redline-test-'))
  fs.chmodSync(folder, 0o777)
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** @param {string} folder @returns {any[]} */
export function readTrials(folder) {
  const text = fs.readFileSync(path.join(folder, 'trials.ndjson'), 'utf8')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** @param {string} folder @returns {any} */
export function readRun(folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'run.json'), 'utf8'))
}

/** Ids of the processes whose command line or environment names the folder. @param {string} folder */
export function processesOf(folder) {
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    try {
      return ['cmdline', 'environ'].some((file) => fs.readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(folder))
    } catch {
      return false
    }
  })
}

/** The checkouts of commits that a process has made and not removed. @param {number | undefined} pid */
export function checkoutsOf(pid) {
  const owner = `-${Number(pid).toString(36)}-`
  return fs.readdirSync('/var/tmp').filter((name) => name.startsWith('redline-gate-') && name.includes(owner))
}

/** Whether a process descends from this one; other runs of the tests may be in progress. @param {string} pid @returns {boolean} */
export function isOurs(pid) {
  if (Number(pid) === process.pid) return true
  try {
    const [, parent] = /^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return parent !== undefined && parent !== '0' && isOurs(parent)
  } catch {
    return false
  }
}
