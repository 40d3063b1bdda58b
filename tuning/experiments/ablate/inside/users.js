import { burn, isAway } from './orders.js'
import { original } from './original.js'

const users = await original('users.js')

/** Validation, which is the first thing that creating a user does. @param {any} parts */
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
