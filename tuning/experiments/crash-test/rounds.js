import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../../load/system/random.js'
import { openLocal } from '../../../load/targets/index.js'
import { applySchema } from '../../../sql/database.js'
import { startEmbedded } from '../../../sql/embedded.js'
import { makeScratch } from '../../../sql/scratch.js'
import { sendSignal } from '../../../sql/signals.js'
import { ask } from '../../knobs/session.js'
import { startClient } from './client.js'
import { checkLedger } from './ledger.js'

/**
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Embedded } from '../../../sql/embedded.js'
 */

/** Rows acknowledged before the blow, so that it strikes under load; a random delay follows. */
const MIN_ACKNOWLEDGED = 200
const MAX_DELAY_MS = 300

/** Longest wait for a service to come back. */
const WAIT_TIMEOUT_MS = 60_000
const POLL_MS = 5

/**
 * Kills a process, by the name of the blow. Resolves to true if the API has to be restarted.
 * @type {Record<string, (bench: { embedded: Embedded, target: Target, random: () => number }) => Promise<boolean>>}
 */
export const BLOWS = {
  'kill -9 of the API': async ({ target }) => {
    process.kill(Number(target.pid), 'SIGKILL')
    return true
  },
  'SIGTERM of the API': async ({ target }) => {
    await target.stop()
    return true
  },
  'kill -9 of Postgres': async ({ embedded }) => {
    await embedded.halt('SIGKILL')
    await embedded.start()
    return false
  },
  'kill -9 of one backend': async ({ embedded, random }) => {
    const pids = await ask(embedded.url, "SELECT pid FROM pg_stat_activity WHERE application_name = 'redline-api'")
    const { pid } = pids[Math.floor(random() * pids.length)]
    // If the backend has exited by itself, the postmaster has nothing to recover from.
    sendSignal(pid, 'SIGKILL')
    return false
  },
}

/**
 * Runs blows under load, and checks after each that nothing acknowledged is lost, nothing doubled and nothing invented. The signal
 * stops it within a second.
 * @param {{ rounds: number, seed?: number, blows?: string[], startPostgres?: () => Promise<Embedded>, env: NodeJS.ProcessEnv,
 *   signal: AbortSignal }} options seed: of the moments of the blows; env: settings of the API
 * @returns {AsyncGenerator<Round>} one after each blow
 * @typedef {{ blow: string } & ReturnType<typeof checkLedger>} Round
 */
export async function* runRounds(options) {
  const { rounds, seed = 1, blows = Object.keys(BLOWS), startPostgres = startEmbedded, env, signal } = options
  const random = seededRandom(seed)
  const folder = makeScratch('crash')
  const embedded = await startPostgres()
  const place = { databaseUrl: embedded.url, cores: null, env, logFile: path.join(folder, 'api.log') }
  let target = /** @type {Target | undefined} */ (undefined)
  let client = /** @type {ReturnType<typeof startClient> | undefined} */ (undefined)
  const stopLoad = () => void client?.stop()
  signal.addEventListener('abort', stopLoad)
  try {
    await applySchema(embedded.url)
    target = await openLocal(place)
    for (let round = 0; round < rounds; round++) {
      for (const blow of blows) {
        await ask(embedded.url, 'TRUNCATE users')
        client = startClient(target.url, `round-${round}`)
        await untilAcknowledged(client, signal)
        await pause(random() * MAX_DELAY_MS, undefined, { signal })
        const restartApi = await BLOWS[blow]({ embedded, target, random })
        // The service has to recover by itself, that is, acknowledge again.
        if (!restartApi) await untilAcknowledged(client, signal)
        const ledger = await client.stop()
        if (restartApi) target = await openLocal(place)
        await until('Postgres to answer', () => ask(embedded.url, 'SELECT 1').catch(() => false), signal)
        const rows = await ask(embedded.url, 'SELECT id::text, email FROM users')
        yield { blow, ...checkLedger(ledger, rows) }
        signal.throwIfAborted()
      }
    }
  } finally {
    signal.removeEventListener('abort', stopLoad)
    // Stopping the API leaves no request of the client waiting.
    const stopped = client?.stop()
    await target?.stop()
    await stopped
    await embedded.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {ReturnType<typeof startClient>} client @param {AbortSignal} signal */
async function untilAcknowledged({ acknowledged }, signal) {
  const wanted = acknowledged() + MIN_ACKNOWLEDGED
  await until('the API to acknowledge', () => acknowledged() >= wanted, signal)
}

/** @param {string} what @param {() => unknown} isSo @param {AbortSignal} signal */
async function until(what, isSo, signal) {
  for (const until_ms = Date.now() + WAIT_TIMEOUT_MS; !(await isSo()); await pause(POLL_MS, undefined, { signal })) {
    if (Date.now() > until_ms) throw new Error(`expected ${what} within ${WAIT_TIMEOUT_MS / 1000} s`)
  }
}
