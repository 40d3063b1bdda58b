import { burn, isAway } from './orders.js'
import { original } from './original.js'

const app = await original('app.js')

/** The line that is written for a request. @param {any} parts */
export function createApp(parts) {
  const log = Object.create(parts.log, { debug: { value: debug } })
  return app.createApp({ ...parts, log })

  /** @param {any[]} line */
  function debug(...line) {
    if (isAway('log')) return
    burn('log')
    parts.log.debug(...line)
  }
}
