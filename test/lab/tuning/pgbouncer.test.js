import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { applySchema } from '../../../sql/database.js'
import { openCell } from '../../../tuning/knobs/open-cell.js'
import { newUser, post } from '../../support/api.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { temporaryFolder } from '../../support/lab.js'
import { newCertificate, startPostgres } from '../../support/postgres-host.js'
import { without } from '../../support/skip.js'

/** @param {any} t @param {string} databaseUrl @param {Record<string, string>} levels */
function open(t, databaseUrl, levels, env = process.env) {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  return openCell(levels, { databaseUrl, cores: null, allCores: null, env, logFile })
}

/** @param {string} url @param {number} requests all at once */
async function statuses(url, requests) {
  const answers = await Promise.all(Array.from({ length: requests }, () => post(url, newUser())))
  return answers.map(({ status }) => status)
}

t.test(
  'to Postgres on another host it speaks TLS, and checks who answers',
  { skip: without('pgbouncer', '--version') ?? withoutHosts() ?? false },
  async (t) => {
    const { database } = await openHosts(t, ['database'])
    const { url } = await startPostgres(database)
    await applySchema(url)
    const levels = { INSERT_MODE: 'single', PGBOUNCER_POOL: '2' }
    const target = await open(t, url, levels)
    t.strictSame(await statuses(target.url, 3), [201, 201, 201])
    await target.stop()

    const folder = path.join('/var/tmp', `redline-test-${randomBytes(6).toString('hex')}`)
    mkdirSync(folder, { mode: 0o755 })
    t.teardown(() => rmSync(folder, { recursive: true }))
    const wrong = new URL(url)
    wrong.searchParams.set('sslrootcert', (await newCertificate(folder, database.address)).caFile)
    await t.rejects(open(t, wrong.href, levels), /expected PgBouncer to reach Postgres, got: .*/)
  },
)
