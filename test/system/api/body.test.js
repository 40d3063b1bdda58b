import http from 'node:http'
import t from 'tap'
import { readJson } from '../../../api/http.js'
import { httpServer } from '../../support/servers.js'

t.test('an idle connection holds no request that has its answer', async (t) => {
  /** @type {http.IncomingMessage[]} */
  const requests = []
  const url = await httpServer(t, async (req, res) => {
    requests.push(req)
    await readJson(req, 1000)
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const status = await new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'Content-Length': 2 }
    http
      .request(url, { method: 'POST', headers, agent }, (res) => res.resume().on('end', () => resolve(res.statusCode)))
      .on('error', reject)
      .end('{}')
  })
  t.equal(status, 201)
  const [req] = requests
  t.equal(req.readableEnded, true, 'its stream has ended')
  // Undocumented: what the parser of the connection is at.
  t.equal(Reflect.get(req.socket, 'parser').incoming, null)
})
