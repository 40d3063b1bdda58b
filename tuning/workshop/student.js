import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../load/command/errors.js'
import { NONE } from '../../load/report/format.js'
import { Results } from '../../load/run/results.js'
import { attempt } from '../../sql/attempt.js'
import { isState, PROGRESS_FILE, readProgress } from './progress.js'

/**
 * @import { Capacity } from '../../load/report/record.js'
 * @import { State } from './progress.js'
 */

const FORMAT = 'redline-hand-in-1'

/**
 * @typedef {object} Student
 * @property {string} name
 * @property {string} machine
 * @property {Pick<Capacity, 'low_rps' | 'high_rps'>[]} capacities that sweeps found
 * @property {Record<string, State>} exercises those that were begun, by id
 * @property {boolean} isEmpty whether nothing was found
 * @property {string} [unreadable] name of a broken file
 */

/**
 * The results of a student. The folder contains `workshop/` and runs; or contains such a folder as `results/`; or is the folder of the
 * workshop itself.
 * @param {string} place @returns {Student}
 */
export function readStudent(place) {
  const inner = path.join(place, 'results')
  const folder = fs.existsSync(inner) ? inner : place
  const own = [path.join(folder, 'workshop'), folder].find((one) => fs.existsSync(path.join(one, PROGRESS_FILE)))
  const runs = runsIn(folder)
  const played = own && own !== folder ? runsIn(own) : []
  const machine = [...runs, ...played].at(0)?.machine
  return {
    name: path.basename(place),
    isEmpty: !own && runs.length === 0,
    machine: machine ? `${machine.cpu_model}, ${machine.cores} cores` : NONE,
    capacities: runs.flatMap(({ verb, capacity, problem, answer }) => {
      return verb === 'sweep' && capacity && !problem && answer !== 'none' ? [capacity] : []
    }),
    exercises: {},
    ...(own && attempt(() => ({ exercises: readProgress(own).exercises }), { unreadable: PROGRESS_FILE })),
  }
}

/** The runs in a folder, in order of time. One that is broken must not hide the others. @param {string} folder @returns {any[]} */
function runsIn(folder) {
  // Names of runs begin with their time.
  const names = fs.readdirSync(folder).sort()
  return names.flatMap((name) => attempt(() => new Results(path.join(folder, name)).readRun(), []))
}

/**
 * Writes what a student hands in, as one file: the answers and outcomes of each exercise, the capacities, and the machine.
 * @param {string} file @param {string} workshop its folder, beside which the student's runs are
 * @returns {string} what was written
 * @throws {UsageError} if there is nothing to hand in, or the file is something else or cannot be written
 */
export function handIn(file, workshop) {
  if (path.extname(file) !== '.json') throw new UsageError(`--hand-in: expected a name that ends in .json, got ${file}`)
  if (fs.existsSync(file) && !contentOf(file)) {
    throw new UsageError(`--hand-in: expected a new file, or an earlier hand-in, got ${file}`)
  }
  const { exercises: begun } = readProgress(workshop)
  const count = Object.keys(begun).length
  if (count === 0) throw new UsageError(`--hand-in: expected an exercise that was begun in ${workshop}, got none`)
  const folder = path.basename(workshop) === 'workshop' ? path.dirname(workshop) : workshop
  const { machine, capacities } = readStudent(folder)
  const text = JSON.stringify({ format: FORMAT, machine, capacities, exercises: begun }, null, 2)
  try {
    new Results(path.dirname(file)).writeText(path.basename(file), `${text}\n`)
  } catch (error) {
    throw new UsageError(`--hand-in: expected a file that can be written, got ${/** @type {Error} */ (error).message}`)
  }
  return `${file}: ${count} ${count === 1 ? 'exercise' : 'exercises'}. Give this file to your teacher.`
}

/** The hand-in of a student. @param {string} file @returns {Student} */
export function readHandIn(file) {
  const content = contentOf(file)
  const empty = { machine: NONE, capacities: [], exercises: {}, unreadable: path.basename(file) }
  return { name: path.basename(file, '.json'), isEmpty: false, ...(content ?? empty) }
}

/** @param {string} file @returns {Pick<Student, 'machine' | 'capacities' | 'exercises'> | null} null if it is no hand-in */
function contentOf(file) {
  return attempt(() => {
    const { format, machine, capacities, exercises } = JSON.parse(fs.readFileSync(file, 'utf8'))
    const states = Object.values(exercises)
    const isOurs = format === FORMAT && capacities.every(isCapacity) && states.length > 0 && states.every(isState)
    return isOurs ? { machine: String(machine), capacities, exercises } : null
  }, null)
}

/** Whether this can be printed as a range of rates. @param {any} value */
function isCapacity(value) {
  const ends = [value?.low_rps, value?.high_rps]
  return ends.some(Number.isFinite) && ends.every((end) => end === null || Number.isFinite(end))
}
