import http from 'node:http'

/** The floor: reads the body to its end, ignores it, and sends the body of the API's response. */
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
  .listen(Number(process.env.PORT), '127.0.0.1')
