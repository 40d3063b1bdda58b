import fs from 'node:fs'
import t from 'tap'
import { findPostmaster } from '../../../load/probes/postgres.js'
import { lookAtDatabase } from '../../../sql/database.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { startPostgres } from '../../support/postgres-host.js'

t.test(
  'a Postgres in a container of this machine is found, although its processes have other numbers there',
  { skip: withoutHosts() ?? false },
  async (t) => {
    const hosts = await openHosts(t, ['database'])
    const { url } = await startPostgres(hosts.database)
    const look = await lookAtDatabase(url)
    t.teardown(() => look.close())
    t.equal(await findPostmaster(look), null, 'at an address of another machine, it may be anywhere')
    // As a container's port appears on this machine.
    const postmaster = await findPostmaster({ query: look.query, url: 'postgres://127.0.0.1:5432/' })
    t.type(postmaster, 'number')
    t.match(fs.readFileSync(`/proc/${postmaster}/comm`, 'utf8'), /^postgres/)
    const [{ pid }] = await look.query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid")
    const numbers = /^NSpid:\s*(\d+)\s+(\d+)$/m.exec(fs.readFileSync(`/proc/${postmaster}/status`, 'utf8'))
    t.strictSame(numbers?.slice(1).map(Number), [postmaster, pid])
  },
)
