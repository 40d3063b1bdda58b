import { readFileSync } from 'node:fs'
import { ConfigError } from './config.js'

/** @import { Logger } from 'pino' */

/** Open files besides client and database connections: admin listener, readiness check, log and Node's own. */
const OTHER_FILES = 48

/**
 * Maximum number of client connections. At the open-file limit, the kernel still accepts connections, and Node closes them silently.
 * @param {{ maxConnections: number, poolMax: number, pipelineConnections: number }} config @param {Pick<Logger, 'warn'>} log
 * @param {number} [files] limit on open files
 * @throws {ConfigError} if not even the pool fits
 */
export function clientConnections({ maxConnections, poolMax, pipelineConnections }, log, files = openFiles()) {
  if (poolMax >= files) {
    throw new ConfigError(
      `POOL_MAX: expected fewer than the ${files} files that may be open, got ${poolMax}: lower it, or raise the limit (ulimit -Hn)`,
    )
  }
  const left = files - OTHER_FILES - pipelineConnections - poolMax
  if (left >= 1) return Math.min(maxConnections, left)
  log.warn(
    `POOL_MAX=${poolMax} and PIPELINE_CONNECTIONS=${pipelineConnections} leave clients one of the ${files} files that may be open: lower them, or raise the limit (ulimit -Hn)`,
  )
  return 1
}

/** Hard limit on open files, to which Node raises the soft limit at startup; Infinity without /proc. */
function openFiles() {
  try {
    return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
