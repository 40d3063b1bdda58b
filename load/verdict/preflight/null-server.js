import http from 'node:http'

/** @import { AddressInfo } from 'node:net' */

/**
 * Does as little as a server in Node can: reads the body to its end, looks at none of it, answers what the API answers.
 * Prints its port. What a generator cannot do with this, it cannot do with anything.
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
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {AddressInfo} */ (server.address())
  process.stdout.write(`${port}\n`)
})
