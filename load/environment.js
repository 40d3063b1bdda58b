import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'

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
