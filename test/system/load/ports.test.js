import dns from 'node:dns'
import t from 'tap'
import { Connection } from '../../../load/generators/drivers/connection.js'
import { freePorts } from '../../../load/system/ports.js'
import { canListen, created, httpServer } from '../../support/servers.js'
import { until, within } from '../../support/until.js'

t.test('ports differ, can be listened on, and are none that the system gives to connections', async (t) => {
  // Other programs may take one meanwhile.
  await until('twenty that are all still free', async () => {
    const ports = await freePorts(20)
    t.equal(new Set(ports).size, 20)
    for (const port of ports) t.ok(port >= 12_000 && port < 32_000, String(port))
    return !(await Promise.all(ports.map(canListen))).includes(false)
  })
})

t.test('from a local address, a name is taken at its address of the same kind', async (t) => {
  const { port } = new URL(await httpServer(t, created))
  const addresses = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ]
  const lookup = (/** @type {string} */ _, /** @type {any} */ { all, family }, /** @type {any} */ done) => {
    const found = addresses.filter((one) => !family || one.family === family)
    if (all) done(null, found)
    else done(null, found[0].address, found[0].family)
  }
  t.intercept(dns, 'lookup', { value: lookup })
  const connection = new Connection({ host: 'dual.test', port: Number(port), secure: false, localAddress: '127.0.0.1' })
  t.teardown(() => connection.destroy())
  const answered = new Promise((resolve) => {
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'
    connection.send(head, '', (status, error) => resolve([status, error]))
  })
  t.strictSame(await within('an answer', answered), [201, null])
})
