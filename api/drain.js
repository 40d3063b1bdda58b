import net from 'node:net'

/**
 * @import { App } from './app.js'
 * @import { Pool } from './pool.js'
 * @import { Server } from 'node:http'
 */

/** How long a connection without a request stays open in a drain: the next request, if any, gets its answer. */
const GRACE_MS = 250

/**
 * Stops accepting, lets every request that has arrived end, and closes the pool, all within `timeoutMs`.
 *
 * @param {{ server: Server, sockets: Set<net.Socket>, app: App, pool: Pool, timeoutMs: number }} parts sockets: the server's
 * @returns {Promise<{ isComplete: boolean, dropped: number }>} dropped: requests that have no answer at the timeout
 */
export async function drain({ server, sockets, app, pool, timeoutMs }) {
  app.drain()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  const isComplete = await Promise.race([finish(server, sockets, pool), late])
  clearTimeout(timer)
  return { isComplete, dropped: app.stats.inFlight }
}

/** @param {Server} server @param {Set<net.Socket>} sockets @param {Pool} pool */
async function finish(server, sockets, pool) {
  // http.Server's close would cut idle connections at once, and requests on their way with them; net.Server's only stops
  // accepting. A busy client's next answer says `Connection: close`; idle connections are closed after the grace.
  const closed = new Promise((resolve) => net.Server.prototype.close.call(server, resolve))
  const closeIdle = () => {
    server.closeIdleConnections()
    // Node does not count a connection as idle on which nothing has ever come.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
  // A late timer may run before requests that have already arrived are read; an immediate runs after they are read.
  const idle = setInterval(() => setImmediate(closeIdle), GRACE_MS)
  await closed
  clearInterval(idle)
  await pool.end()
  return true
}
