import fs from 'node:fs'
import path from 'node:path'
import { openDatabase } from '../../sql/database.js'
import { rows } from './database.js'
import { runHere, trialHere } from './in-process.js'
import { startLab, temporaryFolder } from './lab.js'
import { newDatabase } from './postgres.js'
import { until } from './until.js'

const QUICK = ['--rates', '200', '--duration', '300ms', '--warmup', '100ms', '--seed', '7']
const PATIENT = { MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0', POOL_CONNECT_TIMEOUT_MS: '30000' }

/** A database with three users, as `npm run database` and an API make it. @param {any} t */
export async function databaseWithUsers(t) {
  const { url } = await newDatabase(t)
  await rows(url, "INSERT INTO users (email, password) VALUES ('ada', 'x'), ('bob', 'x'), ('eve', 'x')")
  return url
}

/** @param {string} url */
export async function emails(url) {
  return (await rows(url, 'SELECT email FROM public.users ORDER BY id')).map(({ email }) => email)
}

/** @param {string} url @param {string} path */
export function withSearchPath(url, path) {
  const named = new URL(url)
  named.searchParams.set('options', `-c search_path=${path}`)
  return named.href
}

/**
 * @param {any} t
 * @param {string[]} argv
 * @param {Parameters<typeof runHere>[1] & { dotenv?: string }} [options]
 */
export async function sweep(t, argv, { dotenv, env, lab, ...options } = {}) {
  const folder = temporaryFolder(t)
  const [dotenvFile, out] = ['.env', 'out'].map((name) => path.join(folder, name))
  if (dotenv) fs.writeFileSync(dotenvFile, dotenv)
  const given = { dotenvFile, env: { ...PATIENT, ...env }, lab: { runTrial: trialHere, ...lab }, ...options }
  return { ...(await runHere(quickly(out, argv), given)), out }
}

/** The same as a program. @param {any} t @param {string[]} argv @param {Record<string, string>} [env] @param {string} [dotenv] */
export function startSweep(t, argv, env = {}, dotenv = '') {
  const cwd = temporaryFolder(t)
  fs.writeFileSync(path.join(cwd, '.env'), dotenv)
  const out = path.join(cwd, 'out')
  const lab = startLab(quickly(out, argv), { ...PATIENT, ...env }, { cwd })
  return { ...lab, out }
}

/** A short sweep, with a patient SLO unless a test has its own. @param {string} out @param {string[]} argv */
function quickly(out, argv) {
  const slo = argv.includes('--slo-p99') ? [] : ['--slo-p99', '9s']
  return ['sweep', ...QUICK, ...slo, '--out', out, ...argv]
}

/** @param {string} url */
export function labRows(url) {
  return rows(url, 'SELECT count(*)::int AS rows FROM redline_lab.users').then(([found]) => found.rows)
}

/** While a program makes the table and puts load on it. @param {string} url @param {number} least */
export function untilLabRows(url, least) {
  const stored = () => labRows(url).catch(() => 0)
  return until(`${least} rows of the load`, async () => (await stored()) >= least, 60_000)
}

/** What the next lab says of a database; null: it takes it. @param {string} url @param {Parameters<typeof openDatabase>[1]} [options] */
export async function refusal(url, options) {
  try {
    const database = await openDatabase(url, { run: 'next', own: ['user-next-%'], ...options })
    await database.close()
    return null
  } catch (error) {
    return /** @type {Error} */ (error).message
  }
}
