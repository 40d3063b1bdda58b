import { once } from 'node:events'
import net from 'node:net'
import t from 'tap'
import { freePorts } from '../../../load/system/ports.js'

t.test('ports differ, can be listened on, and are none that the system gives to connections', async (t) => {
  const ports = await freePorts(20)
  t.equal(new Set(ports).size, 20)
  for (const port of ports) {
    t.ok(port >= 12_000 && port < 32_000, String(port))
    const server = net.createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  }
})
