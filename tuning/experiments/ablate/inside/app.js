import { burn, isAway, requestBegan, requestEnded } from './orders.js'
import { original } from './redirect.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

const app = await original('app.js')
const users = await original('users.js')

/** Hooks the begin of a request, and its log line. @param {any} parts */
export function createApp(parts) {
  const log = Object.create(parts.log, { debug: { value: debug } })
  const own = app.createApp({ ...parts, log })
  return { ...own, handle }

  /** @param {IncomingMessage} req @param {ServerResponse} res */
  async function handle(req, res) {
    requestBegan(res)
    await own.handle(req, res)
    // A client that went away gets no response: without this, its request would stay in flight for good.
    requestEnded(res)
  }

  /** @param {any[]} line */
  function debug(...line) {
    if (isAway('log')) return
    burn('log')
    parts.log.debug(...line)
  }
}

/** Hooks validation, with which creating a user begins. @param {any} parts */
export function createUsers(parts) {
  const { insert, storePassword } = parts
  const own = users.createUsers(parts)
  return { ...own, create }

  /** @param {any} body */
  function create(body) {
    if (isAway('validate')) return insert({ email: body.email, password: storePassword(body.password) })
    burn('validate')
    return own.create(body)
  }
}
