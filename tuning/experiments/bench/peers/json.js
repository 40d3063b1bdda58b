import http from 'node:http'

/** The other floor: collects, decodes and parses the body, and does nothing else. */
const BODY = '{"message":"User created"}'
const HEADERS = ['Content-Type', 'application/json', 'Content-Length', String(BODY.length)]

http
  .createServer((req, res) => {
    /** @type {Buffer[]} */
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', () => {
      const { email, password } = JSON.parse(Buffer.concat(chunks).toString())
      res.writeHead(email && password ? 201 : 400, HEADERS)
      res.end(BODY)
    })
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
