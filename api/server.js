import { constants } from 'node:os'
import { ConfigError, readConfig } from './config.js'
import { checkDatabaseSettings } from './connections.js'
import { createLog } from './log.js'
import { ListenError, startService } from './service.js'

/** @import { Config } from './config.js' */

/** Exit codes: after a signal, 0 or 1; 2 if the configuration is invalid or a port is unavailable. */
const EXIT = { drained: 0, dropped: 1, refused: 2 }

const config = configOrExit()
const log = createLog(config.logLevel)
const service = await startService(config, log).catch(exitWhenRefused)

let draining = false
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  process.on(signal, async () => {
    if (draining) process.exit(128 + constants.signals[signal])
    draining = true
    log.info({ signal, bound_ms: config.shutdownTimeoutMs }, 'draining: finishing what is in flight')
    const { isComplete, dropped } = await service.drain()
    if (dropped > 0) log.warn({ dropped_requests: dropped }, 'shutdown took too long: dropped what was in flight')
    else if (!isComplete) log.warn('shutdown took too long: closed connections whose request had not arrived')
    log.info('stopped')
    process.exit(dropped === 0 ? EXIT.drained : EXIT.dropped)
  })
}

/** @returns {Config} */
function configOrExit() {
  try {
    const read = readConfig()
    checkDatabaseSettings(read)
    return read
  } catch (error) {
    return exitWhenRefused(error)
  }
}

/** @param {unknown} error @returns {never} */
function exitWhenRefused(error) {
  if (!(error instanceof ConfigError || error instanceof ListenError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exit(EXIT.refused)
}
