import http from 'node:http'

/** @import { AddressInfo } from 'node:net' */

/**
 * Does as little as a Node server can: discards the request body and sends the API's response. It listens on the port given as its
 * argument, or else on any free one, and prints the port. If a generator cannot reach a rate against this server, it cannot reach
 * that rate anywhere.
 */
const BODY = '{"message":"User created"}'
const HEADERS = ['Content-Type', 'application/json', 'Content-Length', String(BODY.length)]

const server = http.createServer((req, res) => {
  req.resume()
  req.on('end', () => {
    res.writeHead(201, HEADERS)
    res.end(BODY)
  })
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const { port } = /** @type {AddressInfo} */ (server.address())
  process.stdout.write(`${port}\n`)
})
