import { rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { makeScratch, textOf } from '../../../../sql/scratch.js'

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1)$/
export const TOKEN_FILE = 'token'
const OWNER_ONLY = 0o700

/** A folder for the socket of one process, which nobody else may enter. @param {string} token */
export function admit(token) {
  const folder = makeScratch('ablate')
  writeFileSync(path.join(folder, TOKEN_FILE), token, { mode: 0o600 })
  return folder
}

/**
 * What was expected where stages must not be taken away; null: they may. The right token is used up.
 *
 * @param {object} asked
 * @param {string} asked.socket
 * @param {string | null} asked.token
 * @param {string | null} [asked.host] where it may listen, beside loopback
 * @param {NodeJS.ProcessEnv} asked.env
 */
export function refusal({ socket, token, host = null, env }) {
  if (env.NODE_ENV === 'production') return 'NODE_ENV other than production, since stages would be missing'
  if (!LOOPBACK.test(env.HOST ?? '') && env.HOST !== host)
    return `HOST to be a loopback address, got ${env.HOST ?? 'none'}`
  const folder = path.dirname(socket)
  if (!isOwn(folder))
    return 'a socket in a temporary folder for the owner alone (?socket=/…), as npm run ablate gives it'
  const file = path.join(folder, TOKEN_FILE)
  if (!token || textOf(file) !== token) return 'the token of that folder, which holds once, as npm run ablate gives it'
  rmSync(file)
  return null
}

/** @param {string} folder */
function isOwn(folder) {
  if (path.dirname(folder) !== os.tmpdir()) return false
  const found = statSync(folder, { throwIfNoEntry: false })
  const mode = (found?.mode ?? 0) & 0o777
  return found?.isDirectory() === true && mode === OWNER_ONLY && found.uid === process.getuid?.()
}
