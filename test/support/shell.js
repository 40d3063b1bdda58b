import { Readable } from 'node:stream'

/** @import { Shell } from '../../load/run/shell.js' */

/**
 * Surroundings for a verb that runs in this process: what it writes is kept, nothing of this machine's environment reaches
 * it, and it listens to no signal.
 * @param {Partial<Shell>} [given]
 * @returns {Shell & { said: { stdout: string, stderr: string } }}
 */
export function createShell(given = {}) {
  const said = { stdout: '', stderr: '' }
  const stream = (/** @type {'stdout' | 'stderr'} */ name) => ({
    write: (/** @type {string} */ text) => {
      said[name] += text
    },
  })
  return {
    said,
    stdin: Readable.from([]),
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: {},
    dotenvFile: '/dev/null',
    signal: new AbortController().signal,
    tidy: async () => {},
    lab: {},
    platform: process.platform,
    ...given,
  }
}
