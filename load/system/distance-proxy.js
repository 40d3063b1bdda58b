import net from 'node:net'
import os from 'node:os'
import { createLine } from './line.js'
import { setPriority } from './processes.js'

/**
 * Process that simulates a distant Postgres: `distance-proxy.js PORT ROUND_TRIP_MS HOST PORT`; HOST is a folder if Postgres listens on a
 * Unix socket. Timers are accurate to a millisecond, so the way there takes whole milliseconds, and the way back the rest.
 */
const [port, roundTrip_ms] = process.argv.slice(2, 4).map(Number)
const [host, serverPort] = process.argv.slice(4)
const there_ms = Math.floor(roundTrip_ms / 2)
const server = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${serverPort}` } : { host, port: Number(serverPort) }

// A network waits for no CPU, not even on a core where the generator goes before others.
setPriority(process.pid, os.constants.priority.PRIORITY_HIGHEST)

net
  .createServer({ noDelay: true }, (client) => {
    const postgres = net.connect(server).setNoDelay(true)
    carry(client, postgres, there_ms)
    carry(postgres, client, roundTrip_ms - there_ms)
  })
  .listen(port, '127.0.0.1')

process.once('SIGTERM', () => process.exit())

/** @param {net.Socket} from @param {net.Socket} to @param {number} delay_ms */
function carry(from, to, delay_ms) {
  const later = createLine()
  from.on('data', (piece) => later(delay_ms, () => to.write(piece)))
  from.on('close', () => later(delay_ms, () => to.destroy()))
  from.on('error', () => {})
}
