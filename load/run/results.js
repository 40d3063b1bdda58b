import fs from 'node:fs'
import path from 'node:path'
import { attempt } from '../../sql/attempt.js'
import { UsageError } from '../command/errors.js'
import { OF_TRIAL, ofRun, refuseDamaged } from './fields.js'
import { holdFolder, makeFolder, refuseForeign, refuseLinks, releaseFolder } from './folder.js'

/**
 * @import { TrialRecord } from '../report/record.js'
 */

/** Marks a folder as taken until the run writes its run.json. */
const PLACEHOLDER = '{}\n'
const DAMAGED = 'restore the file, or begin a new run'
const DAMAGED_LINE = 'restore that line, or remove it, and --resume measures its trial again'

/**
 * Creates a new run: its folder, and the initial content of its run.json.
 * @param {string} verb @param {{ argv: string[], out: string | undefined, plan: any }} options out: folder; by default results/<run_id>
 * @throws {UsageError} when the folder holds anything
 */
export function beginRun(verb, { argv, out, plan }) {
  const started_at = new Date().toISOString()
  const run_id = `${started_at.replace(/[-:]|\.\d+/g, '')}-${verb}`
  return { results: Results.create(out, run_id), run: { run_id, verb, argv, started_at, plan } }
}

/** Reopens an interrupted run. @param {{ name: string }} verb @param {string} folder @throws {UsageError} if it holds none of this verb */
export function resumeRun(verb, folder) {
  const results = Results.resume(folder)
  const run = results.readRun()
  if (run.verb !== verb.name)
    throw new UsageError(`--resume: expected a run of ${verb.name} in ${folder}, got a run of ${run.verb}`)
  return { results, run }
}

/** A run's folder: run.json, trials.ndjson (a line per trial, flushed as each trial ends), and files derived from them. */
export class Results {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
  }

  /** @param {string | undefined} out by default results/<run_id> @param {string} runId @throws {UsageError} when the folder holds anything */
  static create(out, runId) {
    try {
      if (out !== undefined) Results.refuseRun(out)
      const folder = out ?? newFolder(runId)
      refuseForeign(folder)
      makeFolder(folder)
      holdFolder(folder, '--out')
      const results = new Results(folder)
      // Another run may have come and gone since the folder was found empty.
      const descriptor = fs.openSync(results.file('run.json'), 'wx')
      try {
        fs.writeSync(descriptor, PLACEHOLDER)
      } catch (error) {
        // A full disk has room for an empty file.
        results.releaseUnused()
        throw error
      } finally {
        fs.closeSync(descriptor)
      }
      return results
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw new UsageError(`--out: expected a folder that can be written, got ${/** @type {Error} */ (error).message}`)
    }
  }

  /** Reopens an interrupted run's folder. @param {string} folder @throws {UsageError} if it holds no run, or another run is using it */
  static resume(folder) {
    const results = new Results(folder)
    results.readRun()
    refuseLinks(folder)
    holdFolder(folder, '--resume')
    const trials = results.file('trials.ndjson')
    // A line without its newline was cut off when the process died: that trial is measured again.
    if (fs.existsSync(trials)) fs.truncateSync(trials, fs.readFileSync(trials).lastIndexOf('\n') + 1)
    return results
  }

  /** @param {string} folder */
  static holdsRun(folder) {
    return fs.existsSync(path.join(folder, 'run.json'))
  }

  /** Refuses a folder with a run in it; one that was killed before its first trial leaves it free. @param {string} out @throws {UsageError} */
  static refuseRun(out) {
    const results = new Results(out)
    if (Results.holdsRun(out) && results.isUnused()) {
      // Unless another run is just beginning there.
      holdFolder(out, '--out')
      results.releaseUnused()
    }
    if (!Results.holdsRun(out)) return
    // A run with rows is of a verb that cannot be resumed.
    const isResumable = attempt(() => results.readRun().rows === undefined, false)
    const next = isResumable ? `--resume ${out} goes on with it` : 'give another one'
    throw new UsageError(`--out: expected a folder without a run, got ${out}; ${next}`)
  }

  isUnused() {
    return ['', PLACEHOLDER].includes(fs.readFileSync(this.file('run.json'), 'utf8'))
  }

  /** Removes a run that never began, so that its folder can be used again. */
  releaseUnused() {
    if (!this.isUnused()) return
    for (const name of ['run.json', 'run.json.tmp', 'api.log']) fs.rmSync(this.file(name), { force: true })
    releaseFolder(this.folder)
    if (fs.readdirSync(this.folder).length === 0) fs.rmdirSync(this.folder)
  }

  /** @returns {any} @throws {UsageError} when there is none, or it is damaged */
  readRun() {
    if (!Results.holdsRun(this.folder)) {
      throw new UsageError(`expected a results folder with a run.json, got ${this.folder}`)
    }
    if (this.isUnused()) throw new UsageError(`expected a run in ${this.folder}, but it ended before its first trial`)
    const run = parsed(fs.readFileSync(this.file('run.json'), 'utf8'), this.file('run.json'))
    if (!run?.plan || !run.verb)
      throw new UsageError(`expected a run of Redline in ${this.folder}, got a run.json of something else`)
    refuseDamaged(run, ofRun(run), this.file('run.json'), DAMAGED)
    return run
  }

  /** @param {object} run */
  writeRun(run) {
    this.writeText('run.json', `${JSON.stringify(run, null, 2)}\n`)
  }

  /** The trials of a run that nobody continues. @returns {TrialRecord[]} @throws {UsageError} as below, and when some are missing */
  readAllTrials() {
    const records = this.readTrials()
    const least = Results.holdsRun(this.folder) ? leastTrials(this.readRun()) : 0
    if (records.length >= least) return records
    const expected = `${least} ${least === 1 ? 'trial' : 'trials'} or more in ${this.file('trials.ndjson')}, as run.json counts them`
    throw new UsageError(`expected ${expected}, got ${records.length}: ${DAMAGED}`)
  }

  /** @returns {TrialRecord[]} @throws {UsageError} when one is damaged, belongs to another run, or is there twice */
  readTrials() {
    const file = this.file('trials.ndjson')
    if (!fs.existsSync(file)) return []
    const { run_id, verb } = this.readRun()
    // Text after the last newline is still being written, or was when its writer died.
    const lines = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1)
    const known = new Set()
    return lines.flatMap((line, i) => {
      if (line === '') return []
      const where = `${file}, line ${i + 1}`
      const record = parsed(line, where, DAMAGED_LINE)
      refuseDamaged(record, OF_TRIAL, where, DAMAGED_LINE)
      if (record.run_id !== run_id || record.experiment !== verb) {
        const found = `one of ${record.experiment} in ${record.run_id}`
        throw new UsageError(`expected a trial of ${verb} in ${run_id} in ${where}, got ${found}: ${DAMAGED_LINE}`)
      }
      // Two machines that resume a run in a folder that they share do not see each other's locks.
      if (known.has(record.trial)) {
        throw new UsageError(`expected each trial once in ${where}, got trial ${record.trial} again: ${DAMAGED_LINE}`)
      }
      known.add(record.trial)
      return [record]
    })
  }

  /** @param {TrialRecord} record */
  appendTrial(record) {
    const file = this.file('trials.ndjson')
    try {
      fs.appendFileSync(file, `${JSON.stringify(record)}\n`, { flush: true })
    } catch (error) {
      throw unwritten(file, error)
    }
  }

  /** Writes atomically: no reader sees half a file, and a link is replaced, not its target. @param {string} name @param {string} text */
  writeText(name, text) {
    const temporary = this.file(`${name}.tmp`)
    fs.rmSync(temporary, { force: true })
    try {
      fs.writeFileSync(temporary, text, { flush: true, flag: 'wx' })
      fs.renameSync(temporary, this.file(name))
    } catch (error) {
      // A full disk leaves half of it.
      fs.rmSync(temporary, { force: true })
      throw unwritten(this.file(name), error)
    }
  }

  /** @param {string} name */
  file(name) {
    return path.join(this.folder, name)
  }
}

/** A failed write to an open file does not say to which one. @param {string} file @param {any} error of the system */
function unwritten(file, { message, code }) {
  const todo = ['ENOSPC', 'EDQUOT'].includes(code) ? ': make room there, then go on with --resume' : ''
  return Object.assign(new Error(`${file} could not be written${todo}; the system said: ${message}`), { code })
}

/** Number of trials that a run has at least, by what its run.json says once it is finished. @param {any} run */
function leastTrials({ finished_at, interrupted, problem, capacity, rows }) {
  if (!finished_at || rows) return 0
  return Math.max(capacity?.trials ?? 0, interrupted || problem ? 0 : 1)
}

/** Creates results/<run_id>, with a number appended if two runs start in the same second. @param {string} runId */
function newFolder(runId) {
  makeFolder('results')
  for (let i = 1; ; i++) {
    const folder = path.join('results', i === 1 ? runId : `${runId}-${i}`)
    try {
      fs.mkdirSync(folder)
      return folder
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    }
  }
}

/** @param {string} text @param {string} where @param {string} [advice] */
function parsed(text, where, advice = DAMAGED) {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`expected JSON in ${where}, got something else: ${advice}`)
  }
}
