import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { main } from '../../../load/run/shell.js'
import { createShell } from '../shell.js'
import { after_ms, createLab } from './lab.js'

/**
 * @import { Lab } from '../../../load/run/runner.js'
 * @import { Action, Verb } from '../../../load/run/experiment.js'
 * @import { Serve } from './service.js'
 */

/**
 * Runs a verb to its end in a simulated lab, as its command line would.
 * @param {Verb | Action} verb
 * @param {string[]} argv with --out or --resume
 * @param {Serve} serve
 * @param {object} [options]
 * @param {Parameters<typeof createLab>[1]} [options.lab] what happens beside
 * @param {number} [options.interruptAfter] trials: Ctrl-C while the next one is on
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {AbortSignal} [options.signal]
 * @param {Lab['pause']} [options.pause]
 * @param {Lab['writeReport']} [options.writeReport]
 */
export async function simulate(verb, argv, serve, options = {}) {
  const { lab: beside = {}, interruptAfter, env, signal, ...others } = options
  const controller = new AbortController()
  const interrupt = () => controller.abort(new Error('SIGINT'))
  const folder = argv[argv.findIndex((word) => word === '--out' || word === '--resume') + 1]
  const lab = createLab(serve, {
    start_ms: after_ms(kept(folder).records),
    ...beside,
    onTrial: (trial, started) => {
      if (started - 1 === interruptAfter) interrupt()
      return beside.onTrial?.(trial, started)
    },
    onOpen: (cell, opening) => beside.onOpen?.(cell, opening, interrupt),
  })
  const shell = createShell({ signal: signal ?? controller.signal, lab: { ...lab, ...others }, ...(env && { env }) })
  const code = await main({ verb }, ['verb', ...argv], shell)
  const end = shell.said.stderr.trim().split('\n').at(-1) ?? ''
  return { code, ...shell.said, end, log: lab.log, ...kept(folder) }
}

/** @param {string} folder @returns {{ run: any, records: any[] }} */
function kept(folder) {
  const read = (/** @type {string} */ name) => {
    const file = path.join(folder, name)
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  }
  const lines = read('trials.ndjson').split('\n').filter(Boolean)
  return { run: JSON.parse(read('run.json') || 'null'), records: lines.map((line) => JSON.parse(line)) }
}

/**
 * Where two runs differ in what they measured, whenever they did.
 * @param {any[]} found
 * @param {any[]} expected
 * @returns {string | null} null: nowhere
 */
export function differs(found, expected) {
  // After an interruption, the target is new, and may be warmed up for longer.
  const timeless = (/** @type {any} */ { run_id, started_at, load, ...record } = {}) => {
    return { ...record, load: { ...load, warmup_s: null } }
  }
  if (found.length !== expected.length) return `${found.length} trials, expected ${expected.length}`
  const first = found.findIndex((record, i) => !isDeepStrictEqual(timeless(record), timeless(expected[i])))
  return first === -1 ? null : `trial ${first + 1}: ${found[first].experiment}, expected ${expected[first].experiment}`
}

/** What a run says, without when and in which folder. @param {any} run */
export function answerOf({ run_id, argv, started_at, finished_at, resumptions, ...run }) {
  return run
}

/** A folder in memory where there is such a thing: a run flushes every trial. @param {any} t */
export function memoryFolder(t) {
  const parent = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir()
  const folder = fs.mkdtempSync(path.join(parent, 'redline-test-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}
