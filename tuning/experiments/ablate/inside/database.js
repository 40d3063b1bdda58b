import pg from 'pg'
import { burn, hooked, isAway, onChange } from './orders.js'

const Pool = /** @type {any} */ (pg.Pool)
const Client = /** @type {any} */ (pg.Client)
const { connect } = Pool.prototype
const { query } = Client.prototype

/** @type {WeakMap<object, any[]>} idle connections that bypass a pool, by pool */
const idle = new WeakMap()
const COMMIT = Symbol('commit')

/** @type {Set<any>} connections on which users were stored */
const used = new Set()

/** Offset of the number of elements in Postgres' binary format of text[]. */
const COUNT_AT_BYTE = 12

Pool.prototype.connect = hooked('pool', connect, bypass)

Client.prototype.query = function (/** @type {any} */ statement, /** @type {any[]} */ ...rest) {
  // Only the insert has values; the health check has none.
  if (!statement?.values) return query.call(this, statement, ...rest)
  // Checked before the statement may be dropped, so that the hook also counts a commit without a statement.
  const waits = !isAway('commit')
  if (isAway('database')) return Promise.resolve({ rows: [answerTo(statement)] })
  if (waits !== (this[COMMIT] ?? true)) setCommit(this, waits)
  if (!used.has(this)) {
    used.add(this)
    this.once('end', () => used.delete(this))
  }
  if (waits) burn('commit')
  burn('database')
  return query.call(this, statement, ...rest)
}

/** An idle connection that bypasses the pool, or a new one. @this {any} the pool */
function bypass() {
  return idle.get(this)?.pop() ?? open(this)
}

/** Opens a connection that bypasses the pool and is reused when it is released. @param {any} pool */
async function open(pool) {
  const client = new pool.Client(pool.options)
  client.on('error', () => {})
  await client.connect()
  const free = idle.get(pool) ?? []
  idle.set(pool, free)
  client.release = (/** @type {boolean} */ broken) => (broken ? client.end() : free.push(client))
  return client
}

/** Queues the setting ahead of the statement that needs it. @param {any} client @param {boolean} waits for the disk */
async function setCommit(client, waits) {
  client[COMMIT] = waits
  const statement = waits ? 'RESET synchronous_commit' : 'SET synchronous_commit TO off'
  await query.call(client, statement).catch(() => {
    client[COMMIT] = undefined
  })
}

// Sets all connections at once, so that no later turn pays for it.
onChange((without) => {
  const waits = !without.includes('commit')
  const others = [...used].filter((client) => waits !== (client[COMMIT] ?? true))
  return Promise.all(others.map((client) => setCommit(client, waits)))
})

/** The answer that Postgres would give: an id, or the ids of a batched statement. @param {{ values: any[] }} statement */
function answerTo({ values: [first] }) {
  if (!Buffer.isBuffer(first)) return { id: 1 }
  return { ids: Array(first.readInt32BE(COUNT_AT_BYTE)).fill('1').join(',') }
}
