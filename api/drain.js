import net from 'node:net'

/**
 * @import { App } from './app.js'
 * @import { Pool } from './pool.js'
 * @import { Server } from 'node:http'
 */

/** Time that an idle connection stays open during a drain, so that a request already on its way is answered. */
export const GRACE_MS = 250

/** Interval between looks at requests whose connections are gone. */
const LOOK_MS = 20

/**
 * Stops accepting connections, lets all requests that have arrived finish, and closes the pool, all within `timeoutMs`.
 * @param {{ server: Server, sockets: Pick<Map<net.Socket, unknown>, 'keys'>, app: App, pool: Pool, timeoutMs: number }} parts
 *   sockets: the server's open ones
 * @returns {Promise<{ isComplete: boolean, dropped: number, waitedFor?: 'clients' | 'database' }>} dropped: requests unanswered at the
 *   timeout; waitedFor: what the drain was still waiting for
 */
export async function drain({ server, sockets, app, pool, timeoutMs }) {
  app.drain()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  let isServed = false
  const finish = async () => {
    await untilServed(server, sockets, app)
    isServed = true
    await pool.end()
    return true
  }
  const isComplete = await Promise.race([finish(), late])
  clearTimeout(timer)
  const dropped = app.stats.inFlight
  return isComplete ? { isComplete, dropped } : { isComplete, dropped, waitedFor: isServed ? 'database' : 'clients' }
}

/** @param {Server} server @param {Pick<Map<net.Socket, unknown>, 'keys'>} sockets @param {App} app */
async function untilServed(server, sockets, app) {
  // http.Server's close() would drop idle connections at once, and with them requests on their way. net.Server's close() only
  // stops accepting. A busy client's next answer carries `Connection: close`; idle connections are closed after GRACE_MS.
  const closed = new Promise((resolve) => net.Server.prototype.close.call(server, resolve))
  const closeIdle = () => {
    // To Node, a connection is idle even while its last answers wait for a slow client to read them.
    const unsent = [...sockets.keys()].filter(({ writableLength }) => writableLength > 0)
    for (const socket of unsent) Object.assign(socket, { destroy: () => socket })
    server.closeIdleConnections()
    for (const socket of unsent) Reflect.deleteProperty(socket, 'destroy')
    // Node does not count a connection as idle if it never received anything.
    for (const socket of sockets.keys()) if (socket.bytesRead === 0) socket.destroy()
  }
  // A late timer may run before requests that have already arrived are read; an immediate runs afterwards.
  const idle = setInterval(() => setImmediate(closeIdle), GRACE_MS)
  await closed
  clearInterval(idle)
  // A client that has reset its connection may still have a row under way.
  while (app.stats.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
}
