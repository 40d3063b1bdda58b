import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, truncateSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { NotApplied } from '../../../load/command/errors.js'
import { UsageError } from '../../../load/command/flags.js'
import { LAB_USER } from '../../../load/generators/mix.js'
import { openApi } from '../../../load/targets/index.js'
import { admit, TOKEN_FILE } from './inside/admit.js'
import { BY_TURNS, REQUESTS_PER_TURN, turnsOf, withoutOf } from './stages.js'

/**
 * @import { Probe } from '../../../load/probes/index.js'
 * @import { Place } from '../../../load/run/bench.js'
 * @import { InForce, Orders } from './inside/orders.js'
 * @import { AblatePlan } from './steps.js'
 */

const PRELOAD = new URL('inside/preload.js', import.meta.url)

/** A line in the log for each request, and the one storage of passwords that is no stage of its own. */
const SETTINGS = { LOG_LEVEL: 'debug', PASSWORD_STORAGE: 'plain' }

/** Stored before the trial empties the table. */
const USER = JSON.stringify({ email: `${LAB_USER}-1@redline.test`, password: 'secret' })

/**
 * The API as one process for all cells: the stages are taken away while it runs. A new process for each would be measured
 * while V8 is still compiling it.
 *
 * @typedef {import('../../../load/targets/index.js').Target} Target
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'mix'>} plan
 * @param {string} [insertMode] a statement for each request, so that a stage is one request's own, unless told otherwise
 */
export function createService(plan, insertMode = 'prepared') {
  /** @type {Target | null} */
  let target = null
  let folder = ''
  let socket = ''

  /** @param {Place} place */
  async function start(place) {
    const token = randomUUID()
    const preload = new URL(PRELOAD)
    preload.searchParams.set('token', token)
    if (place.host) {
      const { host } = place
      const there = socketIn(host.folder)
      await host.ask('keep', { name: TOKEN_FILE, text: token })
      socket = await host.connection.forwardSocket(there)
      preload.searchParams.set('socket', there)
      preload.searchParams.set('host', host.bind)
    } else {
      folder = admit(token)
      socket = socketIn(folder)
      preload.searchParams.set('socket', socket)
    }
    const env = { ...place.env, ...SETTINGS, INSERT_MODE: insertMode }
    return openApi({ ...place, env, nodeFlags: [`--import=${preload.href}`] })
  }

  /** @param {Target} service @param {string[]} wanted stages away */
  async function without(service, wanted) {
    await order(socket, { without: wanted, slow_us: plan.slow_us })
    await ask(service.url)
    const found = await order(socket, null)
    const because = notTaken(wanted, found)
    if (because) throw new NotApplied(because)
    const settings = { ...service.settings, WITHOUT: found.without.join(',') }
    return { ...service, countsRows: !found.without.includes('database'), settings }
  }

  /** @param {Target} service */
  async function byTurns(service) {
    const { stages, slow_us, mix } = plan
    for (const stage of stages) await without(service, [stage])
    const turns = { cells: turnsOf(plan), requests: REQUESTS_PER_TURN, seed: mix.seed }
    await order(socket, { without: [], slow_us, turns })
    const settings = { ...service.settings, WITHOUT: BY_TURNS }
    const countsRows = !stages.includes('database')
    return { ...service, countsRows, settings, watch: () => watchTurns(socket, turns.cells) }
  }

  return {
    /**
     * @param {string} cell
     * @param {Place} place
     * @returns {Promise<Target>}
     * @throws {NotApplied} when a request shows that the process does something else
     */
    async open(cell, place) {
      target ??= await start(place)
      const opened = cell === BY_TURNS ? await byTurns(target) : await without(target, withoutOf(cell))
      // A line for every request of a run would fill a disk.
      if (place.host) await place.host.ask('emptyLog')
      else truncateSync(place.logFile)
      return { ...opened, stop: async () => {} }
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
 * @param {InForce} found after a request
 * @returns {string | null} null: all of them were
 */
export function notTaken(wanted, { calls }) {
  const stage = wanted.find((name) => !calls[name]?.skipped)
  if (stage === undefined) return null
  return `expected a request without ${stage}, got one that its hook did not skip (${calls[stage]?.passed ?? 0} let through)`
}

/**
 * The rounds that begin and end while a load is on.
 *
 * @param {string} socket
 * @param {string[]} cells
 * @returns {Promise<Probe>}
 */
async function watchTurns(socket, cells) {
  const before = (await order(socket, null)).rounds.length
  return {
    sample: async () => {},
    end: () => async () => {
      const { rounds } = await order(socket, null)
      return { cells, rounds: rounds.slice(before + 1) }
    },
  }
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

/** How a connection ends that sshd takes, and may not forward. */
const CUT = ['ECONNRESET', 'EPIPE']

/**
 * @param {string} file
 * @param {Orders | null} orders null: those that are in force stay
 * @returns {Promise<InForce>}
 */
async function order(file, orders) {
  const connection = net.connect(file).setEncoding('utf8')
  await once(connection, 'connect')
  connection.write(`${JSON.stringify(orders)}\n`)
  let answer = ''
  try {
    for await (const text of connection) answer += text
  } catch (error) {
    if (!CUT.includes(/** @type {any} */ (error).code)) throw error
  }
  if (answer === '') {
    throw new UsageError(
      'expected an answer from where stages are taken away, got none; over ssh, sshd has to allow it: AllowStreamLocalForwarding yes',
    )
  }
  return JSON.parse(answer)
}
