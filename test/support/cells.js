import path from 'node:path'
import { openCell } from '../../tuning/knobs/open-cell.js'
import { newUser, post } from './api.js'
import { temporaryFolder } from './lab.js'

/**
 * A target with these levels of knobs, on any core.
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string | number>} levels
 */
export function openUnpinned(t, databaseUrl, levels, env = process.env) {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  return openCell(levels, { databaseUrl, cores: null, allCores: null, env, logFile })
}

/** What new users get. @param {string} url @param {number} requests all at once */
export async function statuses(url, requests) {
  const answers = await Promise.all(Array.from({ length: requests }, () => post(url, newUser())))
  return answers.map(({ status }) => status)
}
