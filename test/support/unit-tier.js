import net from 'node:net'
import processOnSpawn from 'process-on-spawn'

/** Takes from a unit test what it must not have: processes and sockets. The clock: see test/unit/tier.test.js. */

processOnSpawn.addListener(({ execPath }) => {
  throw new Error(`expected a unit test without processes, got ${execPath}`)
})

for (const [prototype, name] of /** @type {[any, string][]} */ ([
  [net.Socket.prototype, 'connect'],
  [net.Server.prototype, 'listen'],
])) {
  prototype[name] = () => {
    throw new Error(`expected a unit test without sockets, got ${name}()`)
  }
}
