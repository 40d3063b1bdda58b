import http from 'node:http'

/** Answers 201 to everything and does nothing: the floor under any service, and what a generator is measured against. */
const BODY = '{"message":"User created"}'
const HEADERS = ['Content-Type', 'application/json', 'Content-Length', String(BODY.length)]

http
  .createServer((req, res) => {
    req.resume()
    req.on('end', () => {
      res.writeHead(201, HEADERS)
      res.end(BODY)
    })
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
