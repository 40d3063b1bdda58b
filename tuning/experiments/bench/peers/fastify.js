import Fastify from 'fastify'
import { insertUser } from './statement.js'

/** @import { FastifyRequest } from 'fastify' */

/** Fastify as its manual recommends: it compiles the schemas of body and response into a validator and a serialiser. */
const text = { type: 'string', minLength: 1, maxLength: 255 }
const schema = {
  body: { type: 'object', required: ['email', 'password'], properties: { email: text, password: text } },
  response: { 201: { type: 'object', properties: { message: { type: 'string' } } } },
}

/** @typedef {{ Body: { email: string, password: string } }} CreateUser */

const app = Fastify()
app.post('/user', { schema }, async (/** @type {FastifyRequest<CreateUser>} */ request, reply) => {
  const { email, password } = request.body
  const id = await insertUser(email, password)
  reply.code(201).header('Location', `/user/${id}`)
  return { message: 'User created' }
})
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
