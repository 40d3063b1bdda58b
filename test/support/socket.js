import { once } from 'node:events'
import net from 'node:net'

/**
 * A connection to the API, for what no HTTP client would send.
 *
 * @param {string} url
 * @returns {Promise<net.Socket & { text: () => string }>} text: all that has come so far
 */
export async function connect(url) {
  const { hostname, port } = new URL(url)
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return Object.assign(socket, { text: () => received })
}

/** Waits until that many answers have begun to come. @param {Awaited<ReturnType<typeof connect>>} socket @param {number} count */
export async function answers(socket, count) {
  const statuses = () => [...socket.text().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  while (statuses().length < count && !socket.destroyed && !socket.readableEnded) {
    const waiting = new AbortController()
    const { signal } = waiting
    const changed = ['data', 'close', 'end'].map((event) => once(socket, event, { signal }))
    await Promise.race(changed)
    waiting.abort()
    await Promise.allSettled(changed)
  }
  return statuses()
}

/** @param {string} body @param {string} [more] header lines */
export function rawPost(body, more = '') {
  return `POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`
}
