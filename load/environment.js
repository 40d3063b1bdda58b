import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'

/**
 * The lab's one look at the environment and `.env`. Settings of the API are not read here: it reads them itself, from
 * the same two places.
 *
 * @param {NodeJS.ProcessEnv} [env]
 * @param {string} [dotenvFile]
 * @returns {{ databaseUrl: string | undefined, forApi: NodeJS.ProcessEnv }}
 */
export function readEnvironment(env = process.env, dotenvFile = '.env') {
  const file = existsSync(dotenvFile) ? parse(readFileSync(dotenvFile)) : {}
  return { databaseUrl: (env.DATABASE_URL ?? file.DATABASE_URL) || undefined, forApi: env }
}
