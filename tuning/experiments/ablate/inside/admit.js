import { rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { textOf } from '../../../../sql/attempt.js'
import { makeScratch } from '../../../../sql/scratch.js'

const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|::1)$/
export const TOKEN_FILE = 'token'
const OWNER_ONLY = 0o700

/** Makes a folder for the socket of one process, closed to other users. @param {string} token @returns {string} its path */
export function admit(token) {
  const folder = makeScratch('ablate')
  writeFileSync(path.join(folder, TOKEN_FILE), token, { mode: 0o600 })
  return folder
}

/**
 * Decides whether stages may be removed. A valid token is used up.
 * @param {{ socket: string, token: string | null, host?: string | null, env: NodeJS.ProcessEnv }} asked host: allowed besides loopback
 * @returns {string | null} what was expected, or null if stages may be removed
 */
export function refusal({ socket, token, host = null, env }) {
  if (env.NODE_ENV === 'production') return 'NODE_ENV other than production, since stages would be missing'
  if (!LOOPBACK.test(env.HOST ?? '') && env.HOST !== host)
    return `HOST to be a loopback address, got ${env.HOST ?? 'none'}`
  const folder = path.dirname(socket)
  if (!isOwn(folder))
    return 'a socket in a temporary folder that only its owner can enter (?socket=/…), as npm run ablate makes it'
  const file = path.join(folder, TOKEN_FILE)
  if (!token || textOf(file) !== token) return 'the one-off token in that folder, as npm run ablate writes it'
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
