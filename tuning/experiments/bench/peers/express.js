import express from 'express'
import { insertUser, isText } from './statement.js'

const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.use(express.json())
app.post('/user', async (req, res) => {
  const { email, password } = req.body
  if (!isText(email) || !isText(password)) return void res.status(400).json({ message: 'invalid user' })
  const id = await insertUser(email, password)
  res.status(201).location(`/user/${id}`).json({ message: 'User created' })
})
app.listen(Number(process.argv[2]), '127.0.0.1')
