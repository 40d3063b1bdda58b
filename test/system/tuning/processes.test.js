import path from 'node:path'
import t from 'tap'
import { isListening } from '../../../load/system/ports.js'
import { openSetup } from '../../../tuning/experiments/processes/open.js'
import { findHaproxy } from '../../../tuning/knobs/haproxy.js'
import { statuses } from '../../support/cells.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const haproxy = findHaproxy()
const skip = haproxy ? false : 'this needs haproxy: apt-get install haproxy'

t.test('processes: two of the API behind HAProxy store rows in one table, and end together', { skip }, async (t) => {
  const { url: databaseUrl } = await newDatabase(t)
  const logFile = path.join(temporaryFolder(t), 'api.log')
  // One connection each, whose last statement is an INSERT, tells which processes stored rows.
  const env = { ...process.env, POOL_MAX: '1', INSERT_MODE: 'prepared' }
  const place = { databaseUrl, env, logFile, cores: null, allCores: null }
  const plan = /** @type {any} */ ({ haproxy })
  for (const setup of [
    { processes: 1, front: 'direct' },
    { processes: 2, front: 'haproxy' },
  ]) {
    const target = await openSetup(setup, place, plan)
    t.teardown(target.stop)
    const before = await countIn(databaseUrl)
    t.strictSame(await statuses(target.url, 4), [201, 201, 201, 201])
    t.equal((await countIn(databaseUrl)) - before, 4)
    t.equal(await storingIn(databaseUrl), setup.processes, 'each has stored some')
    t.equal(target.settings.PROCESSES, setup.front === 'direct' ? undefined : 2)
    await target.stop()
    t.equal(await isListening(Number(new URL(target.url).port)), false)
    await until('no session to be left', async () => (await storingIn(databaseUrl)) === 0)
  }
})

/** Sessions of the API whose last statement stored a row. @param {string} url */
async function storingIn(url) {
  const ours = "datname = current_database() AND application_name = 'redline-api' AND query LIKE 'INSERT%'"
  const [{ sessions }] = await rows(url, `SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE ${ours}`)
  return sessions
}

/** @param {string} url */
async function countIn(url) {
  const [{ count }] = await rows(url, 'SELECT count(*)::int FROM users')
  return count
}
