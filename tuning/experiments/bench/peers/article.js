import http from 'node:http'
import pg from 'pg'

/** The published design: raw node:http and a pg pool, one unnamed statement per request, nothing else. */
const { DATABASE_URL: connectionString, POOL_MAX, POOL_IDLE_TIMEOUT_MS } = process.env
const pool = new pg.Pool({ connectionString, max: Number(POOL_MAX), idleTimeoutMillis: Number(POOL_IDLE_TIMEOUT_MS) })

http
  .createServer((req, res) => {
    let body = ''
    req.on('data', (chunk) => {
      body += chunk
    })
    req.on('end', async () => {
      try {
        const { email, password } = JSON.parse(body)
        await pool.query('INSERT INTO users (email, password) VALUES ($1, $2)', [email, password])
        res.writeHead(201, { 'Content-Type': 'application/json' })
        res.end(JSON.stringify({ message: 'User created' }))
      } catch {
        res.writeHead(500, { 'Content-Type': 'application/json' })
        res.end(JSON.stringify({ error: 'Internal Server Error' }))
      }
    })
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
