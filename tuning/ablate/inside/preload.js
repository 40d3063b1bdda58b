import { rmSync } from 'node:fs'
import module from 'node:module'
import net from 'node:net'
import { inForce, obey } from './orders.js'
import './database.js'

/**
 * Preload of the API: stages of a request can be taken away while it runs. No setting of the API does that: who wants it
 * has to start the API with this file and the path of a socket behind it (`preload.js?socket=/…`), over which the orders
 * come, and not in production.
 */
const socket = new URL(import.meta.url).searchParams.get('socket')
if (process.env.NODE_ENV === 'production') refuse('NODE_ENV other than production, since stages would be missing')
if (!socket) refuse('the path of a socket behind its own name (?socket=/…), as npm run ablate gives it')

module.register(new URL('redirect.js', import.meta.url))
listen(String(socket))

/** Orders come as a line of JSON; the answer is what is in force. @param {string} path */
function listen(path) {
  rmSync(path, { force: true })
  const server = net.createServer((connection) => {
    connection.setEncoding('utf8').on('error', () => {})
    let line = ''
    connection.on('data', (text) => {
      line += text
      if (!line.endsWith('\n')) return
      obey(JSON.parse(line))
      connection.end(`${JSON.stringify(inForce())}\n`)
    })
  })
  server.listen(path).unref()
}

/** @param {string} expected */
function refuse(expected) {
  process.stderr.write(`redline: the preload of ablate: expected ${expected}\n`)
  process.exit(2)
}
