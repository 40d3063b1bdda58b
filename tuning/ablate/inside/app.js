import { burn, isAway, requestBegan } from './orders.js'
import { original } from './original.js'

const app = await original('app.js')

/** Where a request begins, and the line that is written for it. @param {any} parts */
export function createApp(parts) {
  const log = Object.create(parts.log, { debug: { value: debug } })
  const own = app.createApp({ ...parts, log })
  return { ...own, handle }

  /** @param {import('node:http').IncomingMessage} req @param {import('node:http').ServerResponse} res */
  function handle(req, res) {
    requestBegan()
    return own.handle(req, res)
  }

  /** @param {any[]} line */
  function debug(...line) {
    if (isAway('log')) return
    burn('log')
    parts.log.debug(...line)
  }
}
