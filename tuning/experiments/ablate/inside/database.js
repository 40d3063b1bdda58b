import pg from 'pg'
import { burn, isAway, onChange } from './orders.js'

const Pool = /** @type {any} */ (pg.Pool)
const Client = /** @type {any} */ (pg.Client)
const { connect } = Pool.prototype
const { query } = Client.prototype

/** @type {WeakMap<object, any[]>} connections beside each pool, without anything to do */
const idle = new WeakMap()
const COMMIT = Symbol('commit')

/** @type {Set<any>} connections on which users were stored */
const used = new Set()

/** In a text[] as Postgres' binary format has it: how many elements there are. */
const COUNT_AT_BYTE = 12

Pool.prototype.connect = function (/** @type {any[]} */ ...args) {
  if (isAway('pool')) return idle.get(this)?.pop() ?? open(this)
  burn('pool')
  return connect.apply(this, args)
}

Client.prototype.query = function (/** @type {any} */ statement, /** @type {any[]} */ ...rest) {
  // Only a user who is stored brings values; a look whether the database is there does not.
  if (!statement?.values) return query.call(this, statement, ...rest)
  // Asked before the statement is dropped, so that a commit without one counts, too.
  const waits = !isAway('commit')
  if (isAway('database')) return Promise.resolve({ rows: [answerTo(statement)] })
  if (waits !== (this[COMMIT] ?? true)) setCommit(this, waits)
  if (!used.has(this)) keep(this)
  if (waits) burn('commit')
  burn('database')
  return query.call(this, statement, ...rest)
}

/** One more connection, which comes back to those beside the pool. @param {any} pool */
async function open(pool) {
  const client = new pool.Client(pool.options)
  client.on('error', () => {})
  await client.connect()
  const free = idle.get(pool) ?? []
  idle.set(pool, free)
  client.release = (/** @type {boolean} */ broken) => (broken ? client.end() : free.push(client))
  return client
}

/** Sent before the statement that needs it. @param {any} client @param {boolean} waits for the disk */
async function setCommit(client, waits) {
  client[COMMIT] = waits
  const statement = waits ? 'RESET synchronous_commit' : 'SET synchronous_commit TO off'
  await query.call(client, statement).catch(() => {
    client[COMMIT] = undefined
  })
}

/** @param {any} client */
function keep(client) {
  used.add(client)
  client.once('end', () => used.delete(client))
}

// Each connection at once, so that none of it falls into the time of those that come later.
onChange((without) => {
  const waits = !without.includes('commit')
  const others = [...used].filter((client) => waits !== (client[COMMIT] ?? true))
  return Promise.all(others.map((client) => setCommit(client, waits)))
})

/** As if rows had been stored: an id, or those of a statement that many share. @param {{ values: any[] }} statement */
function answerTo({ values: [first] }) {
  if (!Buffer.isBuffer(first)) return { id: 1 }
  return { ids: Array(first.readInt32BE(COUNT_AT_BYTE)).fill('1').join(',') }
}
