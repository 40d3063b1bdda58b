import { rm } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { openLocal } from '../../../load/targets/index.js'
import { applySchema } from '../../../sql/database.js'
import { startEmbedded } from '../../../sql/embedded.js'
import { makeScratch } from '../../../sql/scratch.js'
import { startClient } from './client.js'
import { checkLedger } from './ledger.js'

/**
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Embedded } from '../../../sql/embedded.js'
 */

/** Acknowledged rows before the blow, so that it falls under load; then up to this long, at random. */
const MIN_ACKNOWLEDGED = 200
const MAX_DELAY_MS = 300

/** For a service that does not come back. */
const WAIT_TIMEOUT_MS = 60_000

/** What dies, by name. Each leaves the bench able to serve again, or says that the API has to be started anew. */
export const BLOWS = /** @type {Record<string, (bench: Bench) => Promise<{ restartApi: boolean }>>} */ ({
  'kill -9 of the API': async ({ target }) => {
    process.kill(Number(target.pid), 'SIGKILL')
    return { restartApi: true }
  },
  'SIGTERM of the API': async ({ target }) => {
    await target.stop()
    return { restartApi: true }
  },
  'kill -9 of Postgres': async ({ embedded }) => {
    await embedded.halt('SIGKILL')
    await embedded.start()
    return { restartApi: false }
  },
  'kill -9 of one backend': async ({ embedded }) => {
    const pids = await query(embedded.url, "SELECT pid FROM pg_stat_activity WHERE application_name = 'redline-api'")
    const { pid } = pids[Math.floor(Math.random() * pids.length)]
    // The backend may have ended by itself since; the postmaster then has nothing to recover from.
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
    return { restartApi: false }
  },
})

/** @typedef {{ embedded: Embedded, target: Target }} Bench */

/**
 * Runs blows under load, and checks after each that nothing acknowledged is lost, doubled or invented.
 *
 * @param {object} options
 * @param {number} options.rounds of each blow
 * @param {string[]} [options.blows] names; default all
 * @param {() => Promise<Embedded>} [options.startPostgres]
 * @param {NodeJS.ProcessEnv} options.env settings of the API
 * @param {(result: Round) => void} options.onRound
 * @returns {Promise<Round[]>}
 *
 * @typedef {{ blow: string } & ReturnType<typeof checkLedger>} Round
 */
export async function runRounds({ rounds, blows = Object.keys(BLOWS), startPostgres = startEmbedded, env, onRound }) {
  const folder = makeScratch('crash')
  const embedded = await startPostgres()
  await applySchema(embedded.url)
  const openApi = () =>
    openLocal({ databaseUrl: embedded.url, cores: null, env, logFile: path.join(folder, 'api.log') })
  const bench = { embedded, target: await openApi() }
  /** @type {Round[]} */
  const results = []
  try {
    for (let round = 0; round < rounds; round++) {
      for (const blow of blows) {
        await query(embedded.url, 'TRUNCATE users')
        const client = startClient(bench.target.url, `round-${round}`)
        await until('the API to acknowledge', () => client.acknowledged() >= MIN_ACKNOWLEDGED)
        await pause(Math.random() * MAX_DELAY_MS)
        const { restartApi } = await BLOWS[blow](bench)
        if (!restartApi) await untilServed(client)
        const ledger = await client.stop()
        if (restartApi) bench.target = await openApi()
        await until('Postgres to answer', () => isUp(embedded.url))
        const rows = await query(embedded.url, 'SELECT id::text, email FROM users')
        const result = { blow, ...checkLedger(ledger, rows) }
        results.push(result)
        onRound(result)
      }
    }
    return results
  } finally {
    await bench.target.stop()
    await embedded.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The service came back by itself: it acknowledges again. @param {ReturnType<typeof startClient>} client */
async function untilServed(client) {
  const before = client.acknowledged()
  await until('the API to acknowledge again', () => client.acknowledged() >= before + MIN_ACKNOWLEDGED)
}

/** @param {string} url */
function isUp(url) {
  return query(url, 'SELECT 1').then(
    () => true,
    () => false,
  )
}

/** @param {string} url @param {string} text @returns {Promise<any[]>} */
async function query(url, text) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

/** @param {string} what @param {() => boolean | Promise<boolean>} isSo */
async function until(what, isSo) {
  for (const until_ms = Date.now() + WAIT_TIMEOUT_MS; !(await isSo()); await pause(5)) {
    if (Date.now() > until_ms) throw new Error(`expected ${what} within ${WAIT_TIMEOUT_MS / 1000} s`)
  }
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
