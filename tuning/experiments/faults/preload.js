import crypto from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { syncBuiltinESMExports } from 'node:module'
import pg from 'pg'
import { burn_us } from '../../../load/system/cpu.js'

/** @import { ServerResponse } from 'node:http' */

/** Preload of the API: a fault in its process, named by the URL's query, such as `preload.js?spin=1.25`. @type {Record<string, (figure: number) => void>} */
const FAULTS = {
  /** Each POST burns so many ms more of the API's CPU. */
  spin: (ms) => onPost(() => burn_us(1000 * ms)),

  /** Each POST burns 2 ms more, but only while more than so many are in flight. */
  crowded(most) {
    let inFlight = 0
    onPost((response) => {
      inFlight++
      response.once('close', () => inFlight--)
      if (inFlight > most) burn_us(2000)
    })
  },

  /** An application-level lock around the database work: one request at a time burns 1 ms and then sends its statement. */
  'one-at-a-time'() {
    const Pool = /** @type {any} */ (pg.Pool)
    const { connect } = Pool.prototype
    let last = Promise.resolve()
    Pool.prototype.connect = async function () {
      const before = last
      let end = () => {}
      last = new Promise((resolve) => {
        end = resolve
      })
      await before
      burn_us(1000)
      try {
        const client = await connect.call(this)
        const { release } = client
        client.release = (/** @type {boolean} */ isBroken) => {
          release(isBroken)
          end()
        }
        return client
      } catch (error) {
        end()
        throw error
      }
    }
  },

  /** The mistake of calling scryptSync: passwords are hashed on the event loop. */
  'sync-scrypt'() {
    crypto.scrypt = /** @type {any} */ (
      (/** @type {any[]} */ ...args) => {
        const done = args.pop()
        done(null, crypto.scryptSync(.../** @type {Parameters<typeof crypto.scryptSync>} */ (args)))
      }
    )
    syncBuiltinESMExports()
  },

  /**
   * A cache of 110 MiB in a heap that is not much larger, and requests whose objects live just long enough to be promoted. Each
   * major collection marks the whole cache and frees little, and the next one soon follows.
   */
  'small-heap'() {
    const HELD_OBJECTS = 1_300_000
    const OBJECTS_PER_REQUEST = 2500
    // The objects of this many requests exceed the young generation.
    const LIVING_REQUESTS = 40
    const objectOf = (/** @type {unknown} */ _, /** @type {number} */ i) => ({ i, next: { i } })
    const held = Array.from({ length: HELD_OBJECTS }, objectOf)
    /** @type {object[][]} */
    const living = Array.from({ length: LIVING_REQUESTS }, () => [])
    let requests = 0
    onPost(() => {
      const objects = Array.from({ length: OBJECTS_PER_REQUEST }, objectOf)
      living[requests++ % LIVING_REQUESTS] = objects
      held[requests % HELD_OBJECTS] = objects[0]
    })
  },

  /**
   * Applies the pool's timeout only to the wait in its queue. pg-pool also applies it to connecting, and a Postgres login takes
   * about 5 ms: the API would start on some machines and fail on others.
   */
  'patient-connect'() {
    const Pool = /** @type {any} */ (pg.Pool)
    const { newClient } = Pool.prototype
    Pool.prototype.newClient = function (/** @type {unknown} */ waiting) {
      const { connectionTimeoutMillis } = this.options
      // Pool and client both read it while newClient runs.
      this.options.connectionTimeoutMillis = 0
      newClient.call(this, waiting)
      this.options.connectionTimeoutMillis = connectionTimeoutMillis
    }
  },

  /**
   * Closes idle connections on time, as other servers do. Node keeps them a second longer than it announces
   * (HTTP_SERVER_KEEP_ALIVE_TIMEOUT_BUFFER in lib/_http_server.js), to avoid the very race that we want here.
   */
  'exact-keep-alive'() {
    subscribe('http.server.response.finish', (message) => {
      const { socket, server } = /** @type {any} */ (message)
      // Node sets its own timeout as soon as this returns.
      process.nextTick(() => socket.setTimeout(server.keepAliveTimeout))
    })
  },
}

const [name, figure] = new URL(import.meta.url).search.slice(1).split('=')
FAULTS[name](Number(figure))

/** @param {(response: ServerResponse) => void} act */
function onPost(act) {
  subscribe('http.server.request.start', (message) => {
    const { request, response } = /** @type {any} */ (message)
    if (request.method === 'POST') act(response)
  })
}
