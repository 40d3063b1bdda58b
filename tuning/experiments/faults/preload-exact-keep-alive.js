import { subscribe } from 'node:diagnostics_channel'

/**
 * Preload of the API: idle connections are closed when their time is up, as by other servers. Node keeps them for a second
 * more than it says (HTTP_SERVER_KEEP_ALIVE_TIMEOUT_BUFFER in lib/_http_server.js), against the very race wanted here.
 */
subscribe('http.server.response.finish', (message) => {
  const { socket, server } = /** @type {any} */ (message)
  // Behind Node, which sets its own as soon as this returns.
  process.nextTick(() => socket.setTimeout(server.keepAliveTimeout))
})
