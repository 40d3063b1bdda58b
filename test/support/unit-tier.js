import net from 'node:net'
import processOnSpawn from 'process-on-spawn'

/** Loaded before every test file: a unit test can neither start processes nor use sockets. Clocks: test/unit/tier.test.js. */
if (/[\\/]test[\\/](unit|bundles)[\\/]/.test(process.argv[1])) forbidProcessesAndSockets()

function forbidProcessesAndSockets() {
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
}
