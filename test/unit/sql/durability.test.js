import fs from 'node:fs'
import t from 'tap'
import { durabilityOf, durabilityWarnings, fileSystemOf } from '../../../sql/durability.js'

const MOUNTS = `/dev/vda1 / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/vdb /var/lib xfs rw 0 0
/dev/vdc /my\\040disk btrfs rw 0 0
overlay /var/lib overlay rw 0 0
`

t.test('a folder is on the file system of the deepest mount above it, the last one where there are two', async (t) => {
  for (const [folder, expected] of [
    ['/home/x', 'ext4'],
    ['/tmp', 'tmpfs'],
    ['/tmp/redline', 'tmpfs'],
    ['/tmpx', 'ext4'],
    ['/var/lib/postgresql', 'overlay'],
    ['/my disk/data', 'btrfs'],
  ]) {
    t.equal(fileSystemOf(folder, MOUNTS), expected, folder)
  }
  t.equal(fileSystemOf('/x', ''), null, 'where the system does not say, it is unknown')
})

t.test('a link is on the file system that it leads to', { skip: withoutMounts() }, async (t) => {
  const folder = t.testdir({ link: t.fixture('symlink', '/proc/self') })
  const client = /** @type {any} */ ({ query: async () => ({ rows: [{ pid: 1, data_directory: null }] }) })
  t.equal((await durabilityOf(client, [], `${folder}/link`)).file_system, 'proc')
})

function withoutMounts() {
  return fs.existsSync('/proc/mounts') ? undefined : 'this system has no /proc/mounts'
}

t.test('whatever makes a 201 worth less is a warning', async (t) => {
  const durable = {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    wal_sync_method: 'fdatasync',
    unlogged: false,
    triggers: [],
    file_system: 'ext4',
  }
  t.strictSame(durabilityWarnings(durable), [])
  for (const [weakness, expected] of /** @type {[object, RegExp][]} */ ([
    [{ fsync: 'off' }, /^Postgres has fsync = off/],
    [{ synchronous_commit: 'off' }, /synchronous_commit = off/],
    [{ full_page_writes: 'off' }, /full_page_writes = off/],
    [{ unlogged: true }, /UNLOGGED/],
    [{ triggers: ['audit'] }, /triggers.*: audit/],
    [{ file_system: 'tmpfs' }, /in memory \(tmpfs\)/],
  ])) {
    const warnings = durabilityWarnings({ ...durable, ...weakness })
    t.equal(warnings.length, 1)
    t.match(warnings[0], expected)
  }
})
