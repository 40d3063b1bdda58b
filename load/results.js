import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from './flags.js'

/**
 * A run's folder: run.json, trials.ndjson with a line per trial, written and flushed as each ends, and what is derived
 * from them.
 */
export class Results {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
  }

  /**
   * @param {string | undefined} out folder; by default results/<run_id>
   * @param {string} runId
   * @throws {UsageError} when the folder already holds a run
   */
  static create(out, runId) {
    const folder = out ?? path.join('results', runId)
    if (fs.existsSync(path.join(folder, 'run.json'))) {
      throw new UsageError(`--out: expected a folder without a run, got ${folder}; --resume ${folder} goes on with it`)
    }
    try {
      fs.mkdirSync(folder, { recursive: true })
      fs.accessSync(folder, fs.constants.W_OK)
    } catch (error) {
      throw new UsageError(`--out: expected a folder that can be written, got ${/** @type {Error} */ (error).message}`)
    }
    return new Results(folder)
  }

  /**
   * @param {string} folder of a run that was cut off
   * @throws {UsageError} when there is none
   */
  static resume(folder) {
    if (!fs.existsSync(path.join(folder, 'run.json'))) {
      throw new UsageError(`--resume: expected a results folder with a run.json, got ${folder}`)
    }
    const results = new Results(folder)
    results.#dropTornLine()
    return results
  }

  /** @returns {any} */
  readRun() {
    return JSON.parse(fs.readFileSync(this.file('run.json'), 'utf8'))
  }

  /** In one step, so that no reader ever meets half a file. @param {object} run */
  writeRun(run) {
    const temporary = this.file('run.json.tmp')
    fs.writeFileSync(temporary, `${JSON.stringify(run, null, 2)}\n`, { flush: true })
    fs.renameSync(temporary, this.file('run.json'))
  }

  /** @returns {import('./trial.js').TrialRecord[]} */
  readTrials() {
    return this.#lines().map((line) => JSON.parse(line))
  }

  /** @param {import('./trial.js').TrialRecord} record */
  appendTrial(record) {
    fs.appendFileSync(this.file('trials.ndjson'), `${JSON.stringify(record)}\n`, { flush: true })
  }

  /** @param {string} markdown */
  writeReport(markdown) {
    fs.writeFileSync(this.file('report.md'), markdown)
  }

  /** @param {string} name */
  file(name) {
    return path.join(this.folder, name)
  }

  #lines() {
    if (!fs.existsSync(this.file('trials.ndjson'))) return []
    return fs.readFileSync(this.file('trials.ndjson'), 'utf8').split('\n').filter(Boolean)
  }

  /** A line without its end was being written when the machine or the process died: that trial is measured again. */
  #dropTornLine() {
    const file = this.file('trials.ndjson')
    if (!fs.existsSync(file)) return
    const whole = fs.readFileSync(file).lastIndexOf('\n') + 1
    fs.truncateSync(file, whole)
  }
}
