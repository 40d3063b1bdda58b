import { spawnSync } from 'node:child_process'
import { DRIVERS } from '../../load/generators/drivers/index.js'

/** Why a test cannot run here; undefined: it can. Printed with the skip. */

/** @param {string} driver */
export function withoutDriver(driver) {
  try {
    DRIVERS[driver].check?.({ url: 'http://127.0.0.1', method: 'POST' })
  } catch (error) {
    return /** @type {Error} */ (error).message
  }
}

export function withoutRoot() {
  return process.getuid?.() === 0 ? undefined : 'this has to be root to become another user'
}

/** @param {string[]} command that succeeds where the test can run */
export function without(...command) {
  const [program, ...args] = command
  return spawnSync(program, args).status === 0 ? undefined : `this needs \`${command.join(' ')}\` to succeed`
}
