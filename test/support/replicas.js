import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { rows } from './database.js'
import { newServer, startServer } from './postgres.js'
import { until } from './until.js'

/** @import { Embedded } from '../../sql/embedded.js' */

/**
 * A primary with the schema applied, and a hot standby that streams from it, until the test ends. The standby is a copy
 * of the primary's data folder: the embedded binaries come without pg_basebackup.
 * @param {any} t
 * @returns {Promise<{ primary: Server, standby: Server }>}
 */
export async function primaryAndStandby(t) {
  const [primary, standby] = await Promise.all([newServer(t, UNFLUSHED), startServer(UNFLUSHED)])
  t.teardown(() => standby.stop())
  await Promise.all([primary.halt(), standby.halt()])
  const standbyUrl = new URL(primary.url)
  standbyUrl.port = new URL(standby.url).port
  copyData(primary, standby)
  await primary.start()
  await standby.start()
  return { primary, standby: { ...standby, url: String(standbyUrl) } }
}

/** Neither loses its power. */
const UNFLUSHED = { fsync: 'off' }

/** @typedef {Embedded} Server */

/** @param {Server} primary @param {Server} standby */
function copyData(primary, standby) {
  const data = path.join(standby.folder, 'data')
  const { uid, gid } = fs.statSync(data)
  fs.rmSync(data, { recursive: true })
  execFileSync('cp', ['-a', path.join(primary.folder, 'data'), data])
  const signal = path.join(data, 'standby.signal')
  fs.writeFileSync(signal, '')
  fs.chownSync(signal, uid, gid)
  const { username, password, port } = new URL(primary.url)
  const conninfo = `host=127.0.0.1 port=${port} user=${username} password=${password} sslmode=disable`
  fs.appendFileSync(path.join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`)
}

/**
 * Waits until the standby has replayed all that the primary has written, then makes it a primary.
 * @param {Server} primary
 * @param {Server} standby
 */
export async function promote(primary, standby) {
  const [{ lsn }] = await rows(primary.url, 'SELECT pg_current_wal_flush_lsn() AS lsn')
  const caughtUp = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS caught_up'
  await until(`the standby to replay up to ${lsn}`, async () => (await rows(standby.url, caughtUp, [lsn]))[0].caught_up)
  await rows(standby.url, 'SELECT pg_promote()')
}
