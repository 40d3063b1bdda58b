import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { applySchema } from '../../../sql/database.js'
import { openUnpinned, statuses } from '../../support/cells.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { newCertificate, startPostgres } from '../../support/postgres-host.js'
import { without } from '../../support/skip.js'

t.test(
  'to Postgres on another host it speaks TLS, and checks who answers',
  { skip: without('pgbouncer', '--version') ?? withoutHosts() ?? false },
  async (t) => {
    const { database } = await openHosts(t, ['database'])
    const { url } = await startPostgres(database)
    await applySchema(url)
    const levels = { INSERT_MODE: 'single', PGBOUNCER_POOL: 2 }
    const target = await openUnpinned(t, url, levels)
    t.strictSame(await statuses(target.url, 3), [201, 201, 201])
    await target.stop()

    const folder = path.join('/var/tmp', `redline-test-${randomBytes(6).toString('hex')}`)
    mkdirSync(folder, { mode: 0o755 })
    t.teardown(() => rmSync(folder, { recursive: true }))
    const wrong = new URL(url)
    wrong.searchParams.set('sslrootcert', (await newCertificate(folder, database.address)).caFile)
    await t.rejects(openUnpinned(t, wrong.href, levels), /expected PgBouncer to reach Postgres, got: .*/)
  },
)
