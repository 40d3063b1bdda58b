import pg from 'pg'

/**
 * Preload of the API: its timeout counts for the wait in the pool's queue alone. pg-pool also bounds connecting by it,
 * and 5 ms are about what Postgres needs to log somebody in: the API would come up on some machines and not on others.
 */
const Pool = /** @type {any} */ (pg.Pool)
const { newClient } = Pool.prototype

Pool.prototype.newClient = function (/** @type {unknown} */ waiting) {
  const { connectionTimeoutMillis } = this.options
  // Read while this runs, for pool and client alike.
  this.options.connectionTimeoutMillis = 0
  newClient.call(this, waiting)
  this.options.connectionTimeoutMillis = connectionTimeoutMillis
}
