import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parse } from 'dotenv'

/** It lists every setting of the API. */
const EXAMPLE = new URL('../.env.example', import.meta.url)

/** Of Node itself, they change what is measured. */
const OF_NODE = ['NODE_ENV', 'UV_THREADPOOL_SIZE']

/**
 * The lab's one look at the environment and `.env`. The API reads its settings itself, from the same two places; a run
 * reads back what it took.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @param {string} [dotenvFile]
 * @returns {{ databaseUrl: string | undefined, forApi: NodeJS.ProcessEnv, settings: NodeJS.ProcessEnv }} settings: as the API will find them
 */
export function readEnvironment(env = process.env, dotenvFile = '.env') {
  const file = existsSync(dotenvFile) ? parse(readFileSync(dotenvFile)) : {}
  return {
    databaseUrl: (env.DATABASE_URL ?? file.DATABASE_URL) || undefined,
    forApi: env,
    settings: { ...file, ...env },
  }
}

/**
 * What of the lab's environment is the API's on another host: its settings alone. All else here is nobody's business there.
 *
 * @param {NodeJS.ProcessEnv} settings
 * @returns {NodeJS.ProcessEnv}
 */
export function settingsOf(settings) {
  const names = [...readFileSync(EXAMPLE, 'utf8').matchAll(/^#(\w+)=/gm)].map(([, name]) => name)
  const known = [...names, ...OF_NODE].filter((name) => name !== 'DATABASE_URL' && settings[name] !== undefined)
  return Object.fromEntries(known.map((name) => [name, settings[name]]))
}

/** @type {Map<string, string>} */
const taken = new Map()

/** Programs that we start could not run without these. */
const NEEDED = ['PATH', 'HOME', 'TMPDIR']

/**
 * A variable that holds a secret. It is taken out of our environment, so that no process that we start inherits it.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function takeVariable(name) {
  const value = taken.get(name) ?? process.env[name]
  if (value === undefined) return undefined
  taken.set(name, value)
  if (!NEEDED.includes(name)) delete process.env[name]
  return value
}

/** What any program needs, and nothing that would change the API. @param {NodeJS.ProcessEnv} [env] */
export function bareEnvironment({ PATH, HOME, TMPDIR } = process.env) {
  return { PATH, HOME, TMPDIR }
}

/**
 * The address of this machine that a connection by ssh came to (ssh(1)): the load will find the same way.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string | null} null: none came, or it holds for one wire alone
 */
export function sshAddress(env = process.env) {
  const address = env.SSH_CONNECTION?.split(' ')[2] ?? ''
  return isIP(address) && !address.includes('%') ? address : null
}
