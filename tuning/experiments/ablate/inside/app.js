import { hooked, requestBegan, requestEnded } from './orders.js'
import { original } from './redirect.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

const app = await original('app.js')
const users = await original('users.js')

/** Hooks the beginning of a request, and its log line. @param {any} parts */
export function createApp(parts) {
  const { log } = parts
  const debug = hooked('log', log.debug.bind(log), () => {})
  const own = app.createApp({ ...parts, log: Object.create(log, { debug: { value: debug } }) })
  return { ...own, handle }

  /** @param {IncomingMessage} req @param {ServerResponse} res */
  async function handle(req, res) {
    requestBegan(res)
    await own.handle(req, res)
    // A client that went away gets no response: without this call, its request would count as in flight forever.
    requestEnded(res)
  }
}

/** Hooks validation, the first step of creating a user. @param {any} parts */
export function createUsers(parts) {
  const { insert, storePassword } = parts
  const own = users.createUsers(parts)
  const unchecked = (/** @type {any} */ { email, password }) => insert({ email, password: storePassword(password) })
  return { ...own, create: hooked('validate', own.create, unchecked) }
}
