import { constants } from 'node:os'
import { ConfigError, readConfig } from './config.js'
import { createLog } from './log.js'
import { startService } from './service.js'
import { isSameSignal } from './signals.js'

/** Exit codes: after a signal, 0 or 1; 2 if the configuration is invalid or a port is unavailable; after a second signal, 128 + its number. */
const EXIT = { drained: 0, dropped: 1, refused: 2, signalled: 128 }

/** Why a shutdown that dropped no request took too long. */
const LATE = {
  clients: 'closed connections whose request had not arrived, or whose answers had not been read',
  database: 'the database had not answered a statement or login of the service itself',
}

await start().catch((error) => {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exit(EXIT.refused)
})

async function start() {
  const config = readConfig()
  const log = createLog(config.logLevel)
  const service = await startService(config, log)
  /** @type {{ signal: string, at_ms: number } | null} */
  let draining = null
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
    process.on(signal, async () => {
      const now_ms = performance.now()
      if (draining) {
        if (isSameSignal(draining, signal, now_ms)) return
        process.exit(EXIT.signalled + constants.signals[signal])
      }
      draining = { signal, at_ms: now_ms }
      log.info({ signal, bound_ms: config.shutdownTimeoutMs }, 'draining: finishing what is in flight')
      const { isComplete, dropped, waitedFor } = await service.drain()
      if (dropped > 0) log.warn({ dropped_requests: dropped }, 'shutdown took too long: dropped what was in flight')
      else if (!isComplete) log.warn(`shutdown took too long: ${LATE[waitedFor ?? 'clients']}`)
      log.info('stopped')
      process.exit(dropped === 0 ? EXIT.drained : EXIT.dropped)
    })
  }
}
