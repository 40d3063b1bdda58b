import { readConfig } from '../../api/config.js'
import { createLog } from '../../api/log.js'
import { startService } from '../../api/service.js'
import { PATIENT, untilReadyz } from './api.js'

/** @import { Api } from './api.js' */

/**
 * The API in this process, ready, until the test ends: for whatever concerns neither signals, nor exit codes, nor memory, CPU
 * and files of the process. To start a process takes 0.5 s of CPU.
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @returns {Promise<ApiHere>}
 */
export async function startHere(t, databaseUrl, env = {}) {
  const api = await startUnreadyHere(t, databaseUrl, env)
  await untilReadyz(api, 'ready')
  return api
}

/**
 * The same without waiting until it is ready, for a database that it cannot use.
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @returns {Promise<ApiHere>}
 */
export async function startUnreadyHere(t, databaseUrl, env = {}) {
  const config = readConfig({ ...PATIENT, PORT: '0', ADMIN_PORT: '0', DATABASE_URL: databaseUrl, ...env }, 'no .env')
  /** @type {string[]} */
  const lines = []
  const log = createLog(config.logLevel, { write: (line) => void lines.push(line) })
  const service = await startService(config, log)
  t.teardown(() => service.close())
  const { url: origin, adminUrl, drain } = service
  return { url: `${origin}/user`, origin, adminUrl, log: () => lines.join(''), drain }
}

/**
 * @typedef {Pick<Api, 'url' | 'origin' | 'adminUrl' | 'log'> & Pick<Service, 'drain'>} ApiHere
 * @typedef {Awaited<ReturnType<typeof startService>>} Service
 */
