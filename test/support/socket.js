import { once } from 'node:events'
import net from 'node:net'
import { within } from './until.js'

/**
 * A connection to the API, for what no HTTP client would send.
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
  await within(`a connection to ${url}`, once(socket, 'connect'))
  socket.on('error', () => {})
  return Object.assign(socket, { text: () => received })
}

/** Waits until that many answers have begun to come, or no more can come. @param {Awaited<ReturnType<typeof connect>>} socket @param {number} count */
export async function answers(socket, count) {
  await watch(socket, `${count} answers`, () => statuses(socket).length >= count)
  return statuses(socket)
}

/** Waits until the server has closed its side, or the whole connection. @param {Awaited<ReturnType<typeof connect>>} socket */
export async function ended(socket) {
  await watch(socket, 'the end of a connection', () => false)
}

/**
 * @param {Awaited<ReturnType<typeof connect>>} socket
 * @param {string} what
 * @param {() => boolean} isEnough
 */
async function watch(socket, what, isEnough) {
  const isOver = () => isEnough() || socket.destroyed || socket.readableEnded
  if (isOver()) return
  let check = () => {}
  const over = new Promise((resolve) => {
    check = () => {
      if (isOver()) resolve(undefined)
    }
  })
  for (const event of EVENTS) socket.on(event, check)
  try {
    await within(what, over)
  } finally {
    for (const event of EVENTS) socket.off(event, check)
  }
}

const EVENTS = ['data', 'close', 'end']

/** @param {Awaited<ReturnType<typeof connect>>} socket */
function statuses(socket) {
  return [...socket.text().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
}

/** @param {string} body @param {string} [more] header lines */
export function rawPost(body, more = '') {
  return `POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`
}
