import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { NotApplied } from '../../load/run.js'
import { openLocal } from '../../load/targets/index.js'
import { cellOf, withoutOf } from './stages.js'

const PRELOAD = new URL('inside/preload.js', import.meta.url)

/** A line in the log for each request, and the one storage of passwords that is no stage of its own. */
const SETTINGS = { LOG_LEVEL: 'debug', PASSWORD_STORAGE: 'plain' }

/**
 * The API as one process for all cells: the stages are taken away while it runs. A new process for each would be measured
 * while V8 is still compiling it.
 *
 * @param {{ slow_us: Record<string, number> }} plan
 * @param {string} [insertMode] a statement for each request, so that a stage is one request's own, unless told otherwise
 */
export function createService({ slow_us }, insertMode = 'prepared') {
  /** @type {import('../../load/targets/index.js').Target | null} */
  let target = null
  let folder = ''

  /** @param {import('../../load/run.js').Place} place */
  async function start(place) {
    folder = mkdtempSync(path.join(os.tmpdir(), 'redline-ablate-'))
    const preload = new URL(PRELOAD)
    preload.searchParams.set('socket', socketIn(folder))
    const env = { ...place.env, ...SETTINGS, INSERT_MODE: insertMode }
    return openLocal({ ...place, env, nodeFlags: [`--import=${preload.href}`] })
  }

  return {
    /**
     * @param {string} cell
     * @param {import('../../load/run.js').Place} place
     * @returns {Promise<import('../../load/targets/index.js').Target>}
     * @throws {NotApplied} when the process says that it does something else
     */
    async open(cell, place) {
      target ??= await start(place)
      const found = await order(socketIn(folder), { without: withoutOf(cell), slow_us })
      if (cellOf(found.without) !== cell) throw new NotApplied(`expected ${cell}, got ${cellOf(found.without)}`)
      // A line for every request of a run would fill a disk.
      truncateSync(place.logFile)
      const countsRows = !found.without.includes('database')
      const settings = { ...target.settings, WITHOUT: found.without.join(',') }
      return { ...target, countsRows, settings, stop: async () => {} }
    },

    async stop() {
      await target?.stop()
      if (folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** @param {string} folder */
function socketIn(folder) {
  return path.join(folder, 'orders')
}

/**
 * @param {string} file
 * @param {import('./inside/orders.js').Orders} orders
 * @returns {Promise<import('./inside/orders.js').Orders>} what is in force
 */
async function order(file, orders) {
  const connection = net.connect(file).setEncoding('utf8')
  await once(connection, 'connect')
  connection.write(`${JSON.stringify(orders)}\n`)
  let answer = ''
  for await (const text of connection) answer += text
  return JSON.parse(answer)
}
