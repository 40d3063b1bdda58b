import { spawnSync } from 'node:child_process'
import os from 'node:os'
import { UsageError } from '../../load/command/errors.js'
import { DRIVERS } from '../../load/generators/drivers/index.js'
import { planCores } from '../../load/system/machine.js'

/** @import { Facts } from './exercise.js' */

/** What this machine can do, as far as an exercise depends on it. */
export function factsOfMachine() {
  return {
    /** The service has a core for itself. */
    pinned: planCores() !== null,
    cores: os.availableParallelism(),
    /** A process can be given a limit of open files. */
    limits: process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0,
    vegeta: hasVegeta(),
  }
}

/** What a student has to know before anything is measured. @param {Facts} facts @returns {string | null} */
export function remarkOf({ pinned, cores }) {
  if (pinned) return null
  const why = cores === 1 ? 'There is one core to use' : 'This system cannot pin a process to a core'
  return `${why}: the service shares it with Postgres, the generator and this program. Rates are lower than on cores of their own, and vary more; what is compared here are ratios, which hold.`
}

function hasVegeta() {
  try {
    DRIVERS.vegeta.check?.({ url: 'http://127.0.0.1', method: 'POST' })
    return true
  } catch (error) {
    if (error instanceof UsageError) return false
    throw error
  }
}
