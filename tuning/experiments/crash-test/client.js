import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** @import { Entry } from './ledger.js' */

const WORKERS = 32
const TIMEOUT_MS = 15_000

/** Pause after a request that was not acknowledged, since the service may refuse requests at once. */
const PAUSE_MS = 20

/**
 * Posts users until it is stopped, each worker one at a time, and records the outcome of each request. Every other worker sends an
 * Idempotency-Key, and repeats a request with it until it is acknowledged: the repeats must not store the user twice.
 * @param {string} url @param {string} name distinguishes the emails
 * @returns stop: resolves with the ledger, in the order of the answers; acknowledged and answered: entries so far
 */
export function startClient(url, name) {
  /** @type {Entry[]} */
  const ledger = []
  const agent = new http.Agent({ keepAlive: true, maxSockets: WORKERS })
  let stopping = false
  let acknowledged = 0

  /** @param {number} worker */
  async function work(worker) {
    for (let i = 0; !stopping; i++) {
      const email = `${name}-${worker}-${i}@redline.test`
      const key = worker % 2 === 0 ? null : randomUUID()
      let result = await post(url, agent, email, key)
      while (key && result.outcome !== 'acknowledged' && !stopping) {
        const again = await post(url, agent, email, key)
        // A repeat that is refused does not rule out that an earlier attempt was stored.
        if (again.outcome !== 'refused') result = again
      }
      ledger.push({ email, ...result })
      if (result.outcome === 'acknowledged') acknowledged++
    }
  }

  const workers = Array.from({ length: WORKERS }, (_, worker) => work(worker))
  return {
    acknowledged: () => acknowledged,
    answered: () => ledger.length,
    stop: async () => {
      stopping = true
      await Promise.all(workers)
      agent.destroy()
      return ledger
    },
  }
}

/** @param {string} url @param {http.Agent} agent @param {string} email @param {string | null} key */
async function post(url, agent, email, key) {
  const headers = { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) }
  const result = await new Promise((/** @type {(result: Omit<Entry, 'email'>) => void} */ resolve) => {
    const req = http.request(url, { method: 'POST', agent, headers, timeout: TIMEOUT_MS }, async (res) => {
      // The status is the answer, even if its body is cut off. Only 504 leaves open whether the row is stored.
      await res.toArray().catch(() => null)
      const id = res.headers.location?.split('/').pop()
      if (res.statusCode === 201) return resolve({ outcome: 'acknowledged', id })
      resolve({ outcome: res.statusCode === 504 ? 'unknown' : 'refused' })
    })
    req.on('timeout', () => req.destroy())
    // If nobody listens, nothing was sent.
    req.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) =>
      resolve({ outcome: code === 'ECONNREFUSED' ? 'refused' : 'unknown' }),
    )
    req.end(JSON.stringify({ email, password: 'secret' }))
  })
  if (result.outcome !== 'acknowledged') await pause(PAUSE_MS)
  return result
}
