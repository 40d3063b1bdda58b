import { burn, isAway, requestBegan, requestEnded } from './orders.js'
import { original } from './original.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

const app = await original('app.js')

/** Where a request begins, and the line that is written for it. @param {any} parts */
export function createApp(parts) {
  const log = Object.create(parts.log, { debug: { value: debug } })
  const own = app.createApp({ ...parts, log })
  return { ...own, handle }

  /** @param {IncomingMessage} req @param {ServerResponse} res */
  async function handle(req, res) {
    requestBegan(res)
    await own.handle(req, res)
    // Whoever went away gets no answer, and would be in flight for good.
    requestEnded(res)
  }

  /** @param {any[]} line */
  function debug(...line) {
    if (isAway('log')) return
    burn('log')
    parts.log.debug(...line)
  }
}
