import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { insertUser, isText } from './statement.js'

const app = new Hono()
app.post('/user', async (c) => {
  const { email, password } = await c.req.json()
  if (!isText(email) || !isText(password)) return c.json({ message: 'invalid user' }, 400)
  const id = await insertUser(email, password)
  return c.json({ message: 'User created' }, 201, { Location: `/user/${id}` })
})
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.argv[2]) })
