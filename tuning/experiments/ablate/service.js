import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, truncateSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { LAB_USER } from '../../../load/generators/mix.js'
import { openApi } from '../../../load/targets/index.js'
import { admit, TOKEN_FILE } from './inside/admit.js'
import { BY_TURNS, nameOf, REQUESTS_PER_TURN, variantsOf } from './stages.js'

/**
 * @import { Probe } from '../../../load/probes/index.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { InForce, Orders } from './inside/orders.js'
 * @import { AblatePlan } from './steps.js'
 */

/** A log line for each request, and plain passwords: any other way of storing them would be a stage of its own. */
const SETTINGS = { LOG_LEVEL: 'debug', PASSWORD_STORAGE: 'plain' }

/** User of the request that checks a variant, stored before the trial empties the table. */
const USER = JSON.stringify({ email: `${LAB_USER}-1@redline.test`, password: 'secret' })

/**
 * The API of each run: one process for all cells, since a new process per cell would be measured while V8 still compiles it.
 * @type {WeakMap<Place, Awaited<ReturnType<typeof start>>>}
 */
const services = new WeakMap()

/**
 * Opens the API without the stages of a cell.
 * @param {{ variant: string }} cell @param {Place} place the same object for all cells of a run
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'mix' | 'insert_mode'>} plan @returns {Promise<Target>}
 * @throws {NotApplied} if a request shows that the process does something else
 */
export async function openVariant({ variant }, place, { stages, slow_us, mix, insert_mode }) {
  const service = services.get(place) ?? (await start(place, insert_mode))
  services.set(place, service)
  const { target, socket } = service
  const variants = variantsOf(stages)
  const isByTurns = variant === BY_TURNS
  const tried = isByTurns ? stages.map((stage) => [stage]) : variants.filter((one) => nameOf(one) === variant)
  const removed = []
  for (const without of tried) removed.push(...(await removedBy(target.url, socket, { without, slow_us })))
  if (isByTurns) {
    await order(socket, { without: [], slow_us, turns: { variants, requests: REQUESTS_PER_TURN, seed: mix.seed } })
  }
  // A line for each request of a run would fill a disk.
  if (place.host) await place.host.ask('emptyLog')
  else truncateSync(place.logFile)
  return {
    ...target,
    countsRows: !removed.includes('database'),
    settings: { ...target.settings, WITHOUT: isByTurns ? BY_TURNS : removed.join(',') },
    ...(isByTurns && { watch: () => watchTurns(socket, variants.map(nameOf)) }),
    stop: async () => {},
  }
}

/** Stops the API of a run. @param {Place} place */
export async function closeService(place) {
  await services.get(place)?.target.stop()
}

/**
 * Starts the API with the preload that removes stages. By default each request has a statement of its own, so that a stage's cost
 * belongs to one request.
 * @param {Place} place @param {string} [insert_mode]
 */
async function start(place, insert_mode = 'prepared') {
  const { host } = place
  const token = randomUUID()
  const folder = host ? host.folder : admit(token)
  const file = path.join(folder, 'orders')
  if (host) await host.ask('keep', { name: TOKEN_FILE, text: token })
  const socket = host ? await host.forwardSocket(file) : file
  const preload = new URL('inside/preload.js', import.meta.url)
  preload.search = String(new URLSearchParams({ token, socket: file, ...(host && { host: host.bind }) }))
  const removeFolder = () => {
    if (!host) rmSync(folder, { recursive: true, force: true })
  }
  const env = { ...place.env, ...SETTINGS, INSERT_MODE: insert_mode }
  const nodeFlags = [`--import=${preload.href}`]
  const target = await openApi({ ...place, env, nodeFlags }).catch((error) => {
    removeFolder()
    throw error
  })
  return { socket, target: { ...target, stop: () => target.stop().finally(removeFolder) } }
}

/** Removes stages, and sends a request that has to skip them. @param {string} url @param {string} socket @param {Orders} orders @returns the stages, read back */
async function removedBy(url, socket, orders) {
  await order(socket, orders)
  const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: USER })
  await answer.text()
  if (answer.status !== 201) throw new NotApplied(`expected 201 from the API, got ${answer.status}`)
  const found = await order(socket, null)
  const because = notTaken(orders.without, found)
  if (because) throw new NotApplied(because)
  return found.without
}

/** Names a stage that was not skipped, or null. @param {string[]} wanted stages to remove @param {InForce} found after a request */
export function notTaken(wanted, { calls }) {
  const stage = wanted.find((name) => !calls[name]?.skipped)
  if (stage === undefined) return null
  return `expected a request without ${stage}, got one that its hook did not skip (${calls[stage]?.passed ?? 0} let through)`
}

/** Collects the rounds that begin and end during a load. @param {string} socket @param {string[]} cells @returns {Promise<Probe>} */
async function watchTurns(socket, cells) {
  const roundsSoFar = async () => (await order(socket, null)).rounds
  const before = (await roundsSoFar()).length
  const end = async () => ({ cells, rounds: (await roundsSoFar()).slice(before + 1) })
  return { sample: async () => {}, end: () => end }
}

/** Errors of a connection that sshd accepts but may not forward. */
const CUT = ['ECONNRESET', 'EPIPE']

/** @param {string} file @param {Orders | null} orders null keeps the present ones @returns {Promise<InForce>} */
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
    'expected an answer from the process that removes stages, got none; over ssh, sshd has to allow it: AllowStreamLocalForwarding yes',
  )
}
