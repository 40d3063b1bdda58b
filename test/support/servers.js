import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'

/**
 * An HTTP server on a port of its own until the test ends.
 * @param {any} t the test
 * @param {http.RequestListener} handler
 * @returns {Promise<string>} its URL
 */
export async function httpServer(t, handler) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, handler)
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return listening(server)
}

/**
 * A server that answers after a while, and keeps how long each answer took by its own clock.
 * @param {any} t
 * @param {number} wait_ms
 * @param {http.RequestListener} [answer] by default 201
 */
export async function slowServer(t, wait_ms, answer = created) {
  /** @type {number[]} */
  const taken_ms = []
  const url = await httpServer(t, (req, res) => {
    const at_ms = performance.now()
    setTimeout(() => {
      taken_ms.push(performance.now() - at_ms)
      answer(req, res)
    }, wait_ms)
  })
  return { url, taken_ms }
}

/**
 * A TCP server that does as it likes.
 * @param {any} t
 * @param {(socket: net.Socket) => void} onConnection
 */
export async function tcpServer(t, onConnection) {
  /** @type {Set<net.Socket>} */
  const sockets = new Set()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return listening(server)
}

/**
 * A way to a database that can be cut.
 * @param {any} t
 * @param {string} databaseUrl
 * @returns {Promise<{ url: string, reset: () => void, refuse: () => void, silence: () => void, move: (databaseUrl: string) => void }>}
 */
export async function tcpProxy(t, databaseUrl) {
  const target = new URL(databaseUrl)
  const way = { host: target.hostname, port: Number(target.port) }
  /** @type {net.Socket[]} */
  const clients = []
  /** @type {net.Socket[]} */
  const servers = []
  let refusing = false
  const url = await tcpServer(t, (client) => {
    if (refusing) return void client.resetAndDestroy()
    clients.push(client)
    const server = net.connect(way)
    servers.push(server)
    server.on('error', () => {})
    client.on('close', () => server.destroy())
    client.pipe(server).pipe(client)
  })
  target.port = new URL(url).port
  return {
    url: String(target),
    reset: () => {
      for (const client of clients) client.resetAndDestroy()
    },
    /** No new connection gets through from now on. */
    refuse: () => {
      refusing = true
    },
    /** What goes through is lost from now on, as on a network that has gone; new connections get through. */
    silence: () => {
      for (const socket of [...clients, ...servers]) socket.unpipe().resume()
    },
    /** New connections lead to this database from now on; open connections stay attached to theirs. */
    move: (databaseUrl) => {
      const { hostname, port } = new URL(databaseUrl)
      Object.assign(way, { host: hostname, port: Number(port) })
    },
  }
}

/** @param {net.Server} server */
async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}/user`
}

/**
 * Some for each process id: below the ports that the lab draws from (sql/free-port.js) and those that the kernel gives to clients, above
 * the last one that fetch refuses (10080).
 */
const OWN_PORTS = { first: 10_100, each: 20, blocks: 95 }
let given = randomInt(OWN_PORTS.each)

/** A loopback port that is rarely shared with another process: for a server that has to be told its port, and starts a moment later. */
export async function ownPort() {
  const { first, each, blocks } = OWN_PORTS
  const own = first + each * (process.pid % blocks)
  for (let tries = 0; tries < each; tries++) {
    const port = own + (given++ % each)
    if (await canListen(port)) return port
  }
  throw new Error(`expected one of the ports ${own} to ${own + each - 1} to be free, found none`)
}

/** @param {number} port */
export async function canListen(port) {
  const server = net.createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EADDRINUSE') throw error
    return false
  } finally {
    server.close()
  }
}

/** A URL on which nobody listens. @param {any} t */
export async function refusingUrl(t) {
  const { port } = new URL(await tcpServer(t, () => {}))
  // Taken by a connection, this port is given to no other server. It is not one of those that the kernel gives to clients: a client that
  // got the very port it connects to would be connected to itself (simultaneous open, RFC 9293, 3.5).
  const socket = net.connect({ port: Number(port), host: '127.0.0.1', localPort: await ownPort() })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const url = `http://127.0.0.1:${socket.localPort}/user`
  t.comment(`nobody listens on ${url}`)
  return url
}

/** Reads a request to its end, then answers 201. @type {http.RequestListener} */
export function created(req, res) {
  req.resume()
  req.on('end', () => {
    res.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': 2 })
    res.end('{}')
  })
}

/**
 * Lets so many requests through and answers 429 to the others: a token bucket.
 * @param {number} rate_rps
 * @param {number} burst_requests that may arrive at once
 * @returns {http.RequestListener}
 */
export function limited(rate_rps, burst_requests) {
  let tokens = burst_requests
  let filled_ms = performance.now()
  return (req, res) => {
    const now_ms = performance.now()
    tokens = Math.min(burst_requests, tokens + ((now_ms - filled_ms) / 1000) * rate_rps)
    filled_ms = now_ms
    if (tokens-- >= 1) return created(req, res)
    tokens++
    req.resume()
    res.writeHead(429, { 'Content-Length': 0 }).end()
  }
}
