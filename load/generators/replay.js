import { readFileSync, statSync } from 'node:fs'
import { UsageError } from '../command/errors.js'
import { count } from '../report/format.js'
import { parseLog } from './access-log.js'
import { readable } from './flag-file.js'
import { refuseChanged, sourceOf } from './source.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Header, MixPlan, Replay } from '../report/record.js'
 * @import { Recording } from './access-log.js'
 * @import { Mix } from './mix.js'
 */

const MAX_BYTES = 256 * 2 ** 20
const MAX_SPEED = 1000
/** A log shorter than this is repeated. */
const LEAST_S = 1

/** @satisfies {Record<string, Flag>} */
export const REPLAY_FLAGS = {
  replay: {
    value: 'FILE',
    about:
      'replay the paths and timing of an access log (GET and HEAD), and report the capacity also as a multiple of its load',
  },
  speed: {
    value: 'X,Y',
    about: 'replay the whole log at X times its speed (default: a search replays as much as each trial needs)',
    parse: (/** @type {string} */ text) => {
      const speeds = text.split(',').map((one) => (/^\d{1,4}(\.\d{1,6})?$/.test(one) ? Number(one) : Number.NaN))
      return speeds.every((speed) => speed > 0 && speed <= MAX_SPEED) ? speeds : undefined
    },
    expected: `numbers above 0, at most ${MAX_SPEED}, such as 1,2.5`,
  },
}

/** Creates the mix of a log. @param {string} file @param {Header[]} headers @param {number} seed @returns {MixPlan} @throws {UsageError} */
export function replayMix(file, headers, seed) {
  // Identify the file before reading it: a later check then detects a line that was added in the meantime.
  const source = sourceOf('replay', file)
  const { summary } = readLog(file)
  const replay = { file, ...summary }
  return { name: file, method: 'GET', headers, body_base64: '', seed, replay, source }
}

/** @type {WeakMap<MixPlan, Recording>} */
const recordings = new WeakMap()

/**
 * Returns the recording that a mix replays. Each process reads the log itself: a million requests are too much for a message per trial.
 * @param {MixPlan} mix @returns {Recording} @throws {UsageError} if the log has changed since the run began
 */
export function recordingOf(mix) {
  const { source } = mix
  const known = recordings.get(mix)
  if (known || !source) return /** @type {Recording} */ (known)
  refuseChanged(source)
  const recording = readLog(source.file)
  recordings.set(mix, recording)
  return recording
}

/** @param {MixPlan} plan @returns {Mix} request i is arrival i of the log, which repeats */
export function replayed(plan) {
  const { requests, order } = recordingOf(plan)
  const { name, headers } = plan
  return (i) => {
    const [method, path] = requests[order[i % order.length]].split(' ')
    return { name, method, path, headers, body: '' }
  }
}

/** Length of a trial that plays the whole log. @param {Pick<Replay, 'requests'>} replay @param {number} rate_rps @returns {number} s */
export function playTime_s({ requests }, rate_rps) {
  return Math.max(LEAST_S, requests / rate_rps)
}

/** Describes the lines that are not replayed. @param {Replay} replay @returns {string | null} null: all are replayed */
export function skippedText({ file, skipped }) {
  const { lines, not_understood, first_line, methods, paths } = skipped
  const verb = not_understood === 1 ? 'was' : 'were'
  const left = [
    methods > 0 && `${count(methods)} by other methods than GET and HEAD, since a log has no bodies`,
    paths > 0 && `${count(paths)} for something that cannot be sent as a path`,
  ].filter(Boolean)
  const parts = [
    not_understood > 0 &&
      `${count(not_understood)} of ${count(lines)} lines ${verb} not understood, the first in line ${first_line}`,
    left.length > 0 && `requests left out: ${left.join(', ')}`,
  ].filter(Boolean)
  return parts.length > 0 ? `${file}: ${parts.join('; ')}` : null
}

/** @param {string} file @throws {UsageError} */
function readLog(file) {
  const stat = readable('replay', () => statSync(file))
  // The generator's process reads it again, so a pipe will not do.
  if (!stat.isFile()) throw new UsageError(`--replay: expected a regular file, got ${file}, which is not one`)
  if (stat.size > MAX_BYTES) {
    throw new UsageError(`--replay: expected a log of at most ${MAX_BYTES} bytes, got ${stat.size}: split it`)
  }
  return parseLog(readable('replay', () => readFileSync(file)))
}
