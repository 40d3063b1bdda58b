import module from 'node:module'
import net from 'node:net'
import { refusal } from './admit.js'
import { inForce, obey } from './orders.js'
import './database.js'

/**
 * Preload that removes stages of a request while the API runs. No setting of the API can do that: the API must be started with
 * this file, a socket for orders and a one-off token (`preload.js?socket=/…&token=…`), both in a folder made for this process.
 */
const { socket = '', token = null, host } = Object.fromEntries(new URL(import.meta.url).searchParams)
const expected = refusal({ socket, token, host, env: process.env })
if (expected) {
  process.stderr.write(`redline: the preload of ablate: expected ${expected}\n`)
  process.exit(2)
}

module.register(new URL('redirect.js', import.meta.url))

// Accepts orders as one line of JSON (null: no new orders), and answers with the orders in force.
const server = net.createServer((connection) => {
  connection.setEncoding('utf8').on('error', () => {})
  let line = ''
  connection.on('data', (text) => {
    line += text
    if (!line.endsWith('\n')) return
    const wanted = JSON.parse(line)
    if (wanted) obey(wanted)
    connection.end(`${JSON.stringify(inForce())}\n`)
  })
})
server.listen(socket).unref()
