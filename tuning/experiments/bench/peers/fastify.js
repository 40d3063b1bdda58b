import Fastify from 'fastify'
import pg from 'pg'
import { insertUser } from './statement.js'

/** @import { FastifyRequest } from 'fastify' */

/** Fastify as its manual recommends: it compiles the schemas of body and response into a validator and a serialiser. */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.POOL_MAX) })
const text = { type: 'string', minLength: 1, maxLength: 255 }
const schema = {
  body: { type: 'object', required: ['email', 'password'], properties: { email: text, password: text } },
  response: { 201: { type: 'object', properties: { message: { type: 'string' } } } },
}

/** @typedef {{ Body: { email: string, password: string } }} CreateUser */

const app = Fastify()
app.post('/user', { schema }, async (/** @type {FastifyRequest<CreateUser>} */ request, reply) => {
  const { email, password } = request.body
  const { rows } = await pool.query(insertUser(email, password))
  reply.code(201).header('Location', `/user/${rows[0].id}`)
  return { message: 'User created' }
})
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
