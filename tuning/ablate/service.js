import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, truncateSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { NotApplied } from '../../load/not-applied.js'
import { openLocal } from '../../load/targets/index.js'
import { admit } from './inside/admit.js'
import { withoutOf } from './stages.js'

const PRELOAD = new URL('inside/preload.js', import.meta.url)

/** A line in the log for each request, and the one storage of passwords that is no stage of its own. */
const SETTINGS = { LOG_LEVEL: 'debug', PASSWORD_STORAGE: 'plain' }

/** Stored before the trial empties the table. */
const USER = JSON.stringify({ email: 'user@redline.test', password: 'secret' })

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
    const token = randomUUID()
    folder = admit(token)
    const preload = new URL(PRELOAD)
    preload.searchParams.set('socket', socketIn(folder))
    preload.searchParams.set('token', token)
    const env = { ...place.env, ...SETTINGS, INSERT_MODE: insertMode }
    return openLocal({ ...place, env, nodeFlags: [`--import=${preload.href}`] })
  }

  return {
    /**
     * @param {string} cell
     * @param {import('../../load/run.js').Place} place
     * @returns {Promise<import('../../load/targets/index.js').Target>}
     * @throws {NotApplied} when a request shows that the process does something else
     */
    async open(cell, place) {
      target ??= await start(place)
      const socket = socketIn(folder)
      await order(socket, { without: withoutOf(cell), slow_us })
      await ask(target.url)
      const found = await order(socket, null)
      const because = notTaken(withoutOf(cell), found)
      if (because) throw new NotApplied(because)
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

/**
 * Whether each stage that should be away was skipped by its hook.
 *
 * @param {string[]} wanted stages away
 * @param {import('./inside/orders.js').InForce} found after a request
 * @returns {string | null} null: all of them were
 */
export function notTaken(wanted, { calls }) {
  const stage = wanted.find((name) => !calls[name]?.skipped)
  if (stage === undefined) return null
  return `expected a request without ${stage}, got one that its hook did not skip (${calls[stage]?.passed ?? 0} let through)`
}

/** One request. @param {string} url */
async function ask(url) {
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: USER })
  await answer.text()
  if (answer.status !== 201) throw new NotApplied(`expected 201 from the API, got ${answer.status}`)
}

/** @param {string} folder */
function socketIn(folder) {
  return path.join(folder, 'orders')
}

/**
 * @param {string} file
 * @param {import('./inside/orders.js').Orders | null} orders null: those that are in force stay
 * @returns {Promise<import('./inside/orders.js').InForce>}
 */
async function order(file, orders) {
  const connection = net.connect(file).setEncoding('utf8')
  await once(connection, 'connect')
  connection.write(`${JSON.stringify(orders)}\n`)
  let answer = ''
  for await (const text of connection) answer += text
  return JSON.parse(answer)
}
