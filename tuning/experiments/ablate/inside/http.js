import { burn, hooked, isAway, requestEnded } from './orders.js'
import { original } from './redirect.js'

/** @import { ServerResponse } from 'node:http' */

const http = await original('http.js')

/** A user as long as those that the lab sends, and recognisably the lab's own (load/generators/mix.js). */
const USER = Object.freeze({ email: 'user-lab-10-10000@redline.test', password: 'secret-10000' })

export const { ClientGone, problem, rawProblem } = http

export const readJson = hooked('read-and-parse', http.readJson, (req) => {
  req.resume()
  return USER
})

/** @param {number} status @param {string} body @param {string[]} headers */
export function json(status, body, headers) {
  return isAway('headers') ? { status, headers: [], body } : http.json(status, body, headers)
}

/** @param {ServerResponse} res @param {any} answer */
export function send(res, answer) {
  if (isAway('headers')) {
    res.sendDate = false
    // Without this header, Node also omits `Keep-Alive`, and still keeps the connection open.
    res.removeHeader('Connection')
  } else {
    burn('headers')
  }
  http.send(res, answer)
  requestEnded(res)
}
