import module from 'node:module'
import net from 'node:net'
import { refusal } from './admit.js'
import { inForce, obey } from './orders.js'
import './database.js'

/**
 * Preload of the API: stages of a request can be taken away while it runs. No setting of the API does that: who wants it
 * has to start the API with this file, and with the path of a socket, over which the orders come, and a token behind its
 * name (`preload.js?socket=/…&token=…`), which lie in a folder that was made for this one process.
 */
const { socket = '', token = null, host } = Object.fromEntries(new URL(import.meta.url).searchParams)
const expected = refusal({ socket, token, host, env: process.env })
if (expected) {
  process.stderr.write(`redline: the preload of ablate: expected ${expected}\n`)
  process.exit(2)
}

module.register(new URL('redirect.js', import.meta.url))

// Orders come as a line of JSON, or null; the answer is what is in force.
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
