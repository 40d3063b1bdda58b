import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, truncateSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { LAB_USER } from '../../../load/generators/mix.js'
import { openApi } from '../../../load/targets/index.js'
import { admit, TOKEN_FILE } from './inside/admit.js'
import { BY_TURNS, REQUESTS_PER_TURN, turnsOf, variantsOf } from './stages.js'

/**
 * @import { Probe } from '../../../load/probes/index.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { InForce, Orders } from './inside/orders.js'
 * @import { AblatePlan } from './steps.js'
 */

const PRELOAD = new URL('inside/preload.js', import.meta.url)

/** In the folder that only this run may enter. */
const SOCKET = 'orders'

/** A line in the log for each request, and the one storage of passwords that is no stage of its own. */
const SETTINGS = { LOG_LEVEL: 'debug', PASSWORD_STORAGE: 'plain' }

/** Stored before the trial empties the table. */
const USER = JSON.stringify({ email: `${LAB_USER}-1@redline.test`, password: 'secret' })

/** @type {WeakMap<Place, ReturnType<typeof createService>>} */
const services = new WeakMap()

/**
 * The API with the stages of a cell away.
 *
 * @param {{ variant: string }} cell
 * @param {Place} place
 * @param {AblatePlan} plan
 * @throws {NotApplied} when a request shows that the process does something else
 */
export function openVariant(cell, place, plan) {
  const service = services.get(place) ?? createService(plan, place)
  services.set(place, service)
  return service.open(cell.variant)
}

/** Ends the API of a run. @param {Place} place */
export async function closeService(place) {
  await services.get(place)?.stop()
}

/**
 * The API as one process for all cells: the stages are taken away while it runs. A new process for each would be measured
 * while V8 is still compiling it. By default it sends a statement for each request, so that a stage is one request's own.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'mix' | 'insert_mode'>} plan
 * @param {Place} place
 */
export function createService({ stages, slow_us, mix, insert_mode = 'prepared' }, place) {
  const { host } = place
  const away = Object.fromEntries(variantsOf({ stages, slow_us }).map(({ name, without }) => [name, without]))
  /** @type {Target | null} */
  let target = null
  let folder = ''
  let socket = ''

  async function start() {
    const token = randomUUID()
    const preload = new URL(PRELOAD)
    preload.searchParams.set('token', token)
    if (host) {
      const there = path.join(host.folder, SOCKET)
      await host.ask('keep', { name: TOKEN_FILE, text: token })
      socket = await host.connection.forwardSocket(there)
      preload.searchParams.set('socket', there)
      preload.searchParams.set('host', host.bind)
    } else {
      folder = admit(token)
      socket = path.join(folder, SOCKET)
      preload.searchParams.set('socket', socket)
    }
    const env = { ...place.env, ...SETTINGS, INSERT_MODE: insert_mode }
    return openApi({ ...place, env, nodeFlags: [`--import=${preload.href}`] })
  }

  /** @param {Target} service @param {string[]} wanted stages away */
  async function without(service, wanted) {
    await order(socket, { without: wanted, slow_us })
    await ask(service.url)
    const found = await order(socket, null)
    const because = notTaken(wanted, found)
    if (because) throw new NotApplied(because)
    const settings = { ...service.settings, WITHOUT: found.without.join(',') }
    return { ...service, countsRows: !found.without.includes('database'), settings }
  }

  /** @param {Target} service */
  async function byTurns(service) {
    for (const stage of stages) await without(service, [stage])
    const variants = turnsOf({ stages, slow_us })
    await order(socket, { without: [], slow_us, turns: { variants, requests: REQUESTS_PER_TURN, seed: mix.seed } })
    const settings = { ...service.settings, WITHOUT: BY_TURNS }
    const cells = variants.map(({ name }) => name)
    return { ...service, countsRows: !stages.includes('database'), settings, watch: () => watchTurns(socket, cells) }
  }

  return {
    /** @param {string} variant @returns {Promise<Target>} */
    async open(variant) {
      target ??= await start()
      const opened = variant === BY_TURNS ? await byTurns(target) : await without(target, away[variant])
      // A line for every request of a run would fill a disk.
      if (host) await host.ask('emptyLog')
      else truncateSync(place.logFile)
      return { ...opened, stop: async () => {} }
    },

    async stop() {
      await target?.stop()
      if (folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a hook did not skip; null: nothing. @param {string[]} wanted stages away @param {InForce} found after a request */
export function notTaken(wanted, { calls }) {
  const stage = wanted.find((name) => !calls[name]?.skipped)
  if (stage === undefined) return null
  return `expected a request without ${stage}, got one that its hook did not skip (${calls[stage]?.passed ?? 0} let through)`
}

/** The rounds that begin and end while a load is on. @param {string} socket @param {string[]} cells @returns {Promise<Probe>} */
async function watchTurns(socket, cells) {
  const before = (await order(socket, null)).rounds.length
  const rounds = async () => (await order(socket, null)).rounds.slice(before + 1)
  return { sample: async () => {}, end: () => async () => ({ cells, rounds: await rounds() }) }
}

/** One request. @param {string} url */
async function ask(url) {
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: USER })
  await answer.text()
  if (answer.status !== 201) throw new NotApplied(`expected 201 from the API, got ${answer.status}`)
}

/** How a connection ends that sshd takes, and may not forward. */
const CUT = ['ECONNRESET', 'EPIPE']

/** @param {string} file @param {Orders | null} orders null: those that are in force stay @returns {Promise<InForce>} */
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
  if (answer) return JSON.parse(answer)
  throw new UsageError(
    'expected an answer from where stages are taken away, got none; over ssh, sshd has to allow it: AllowStreamLocalForwarding yes',
  )
}
