import http from 'node:http'
import postgres from 'postgres'

/** Raw node:http with another Postgres client: postgres.js prepares statements by itself, and pipelines them on a busy connection. */
const { DATABASE_URL = '', POOL_MAX, POOL_IDLE_TIMEOUT_MS } = process.env
const sql = postgres(DATABASE_URL, { max: Number(POOL_MAX), idle_timeout: Number(POOL_IDLE_TIMEOUT_MS) / 1000 })
const BODY = '{"message":"User created"}'

http
  .createServer((req, res) => {
    /** @type {Buffer[]} */
    const chunks = []
    req.on('data', (chunk) => chunks.push(chunk))
    req.on('end', async () => {
      try {
        const { email, password } = JSON.parse(Buffer.concat(chunks).toString())
        const [{ id }] = await sql`INSERT INTO users (email, password) VALUES (${email}, ${password}) RETURNING id`
        answer(res, 201, `/user/${id}`)
      } catch {
        answer(res, 500, '/')
      }
    })
  })
  .listen(Number(process.argv[2]), '127.0.0.1')

/** @param {http.ServerResponse} res @param {number} status @param {string} location */
function answer(res, status, location) {
  res.writeHead(status, ['Content-Type', 'application/json', 'Location', location, 'Content-Length', `${BODY.length}`])
  res.end(BODY)
}
