import { spawnSync } from 'node:child_process'
import { UsageError } from '../../command/errors.js'
import { Samples } from './recorder.js'

/** What the drivers share that are programs of others. */

/** @param {string} name of a program @param {string} install the command that installs it @throws {UsageError} */
export function requireProgram(name, install) {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) return
  throw new UsageError(`--driver: expected ${name} on PATH, found none: ${install}`)
}

/** What a program says is its version. @param {string} program @param {string} flag @param {RegExp} pattern whose first group it is */
export function versionOf(program, flag, pattern) {
  return spawnSync(program, [flag], { encoding: 'utf8' }).stdout?.match(pattern)?.[1] ?? 'unknown'
}

/**
 * @param {[second: number, isOk: boolean, count: number][]} rows answers
 * @returns {{ completed: number, ok: number }[]} by second, those without any included
 */
export function perSecondOf(rows) {
  const last = rows.reduce((most, [second]) => Math.max(most, second), -1)
  const seconds = Array.from({ length: last + 1 }, () => ({ completed: 0, ok: 0 }))
  for (const [second, isOk, count] of rows) {
    seconds[second].completed += count
    if (isOk) seconds[second].ok += count
  }
  return seconds
}

/** Latencies as such a program counts them. @typedef {[latency_us: number, count: number]} Counted */

/** @param {Counted[]} latencies */
export function distributionOf(latencies) {
  const samples = new Samples()
  for (const [us, count] of latencies) for (let i = 0; i < count; i++) samples.add(us / 1000)
  return samples.distribution()
}
