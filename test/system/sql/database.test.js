import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { applySchema, DatabaseError, lookAtDatabase, openDatabase } from '../../../sql/database.js'
import { copyCheckout, openDatabaseIn } from '../../support/checkout.js'
import { rows } from '../../support/database.js'
import { newDatabase, startServer } from '../../support/postgres.js'
import { without, withoutRoot } from '../../support/skip.js'
import { firstLine, until, within } from '../../support/until.js'

/** A version, no rows, and a password. */
const OUTPUT = /^\d+\.\d+ 0 ([0-9a-f]{48})\n$/

/** As a run starts it, but for initdb: from a checkout, below, it runs twice. */
const server = await startServer()
t.teardown(() => server.stop())

t.test('the embedded Postgres is durable, and reachable from this machine alone', async (t) => {
  const [settings] = await rows(
    server.url,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
            current_setting('full_page_writes') AS pages, current_setting('listen_addresses') AS addresses`,
  )
  t.strictSame(settings, { fsync: 'on', commit: 'on', pages: 'on', addresses: '127.0.0.1' })
  t.equal(fs.statSync(`${server.folder}/data`).mode & 0o077, 0, 'its data is for its user alone')
  const { uid, mode } = fs.statSync(server.folder)
  t.equal(uid, process.getuid?.(), 'the folder around it is ours')
  t.equal(mode & 0o022, 0, 'and nobody else may put anything into it')
})

t.test('its password is needed, and its port its own', async (t) => {
  t.not(new URL((await newDatabase(t)).url).port, new URL(server.url).port)
  const wrong = Object.assign(new URL(server.url), { password: 'wrong' })
  await t.rejects(rows(String(wrong), 'SELECT 1'), { code: '28P01' })
})

t.test('open, reset, count and close', async (t) => {
  const database = await openDatabase(server.url)
  t.equal(database.kind, 'given')
  t.equal(database.schema, 'redline_lab')
  const onDisk = database.warnings.filter((text) => !text.startsWith('the data of Postgres is in memory'))
  t.strictSame(onDisk, [], 'its commits are durable wherever its folder is')
  t.equal(await database.countRows(), 0)
  await rows(database.url, "INSERT INTO users (email, password) VALUES ('a', 'b'), ('c', 'd')")
  t.equal(await database.countRows(), 2)
  await database.reset()
  t.equal(await database.countRows(), 0)
  t.strictSame(await rows(database.url, "INSERT INTO users (email, password) VALUES ('a', 'b') RETURNING id"), [
    { id: '1' },
  ])
  await database.close()
})

t.test('a server that somebody has stopped in its tracks ends all the same', async (t) => {
  const stopped = await startServer()
  t.teardown(() => stopped.halt('SIGKILL'))
  process.kill(stopped.pid(), 'SIGSTOP')
  await within('its end', stopped.stop(), 30_000)
  t.notOk(fs.existsSync(stopped.folder))
})

t.test('a CA file that cannot be read is a wrong URL', async (t) => {
  const url = 'postgres://127.0.0.1:1/db?sslmode=verify-full&sslrootcert=/no/such/ca'
  const message = /^DATABASE_URL: expected TLS files that can be read, got: ENOENT: .*'\/no\/such\/ca'$/
  for (const open of [openDatabase, lookAtDatabase, (/** @type {string} */ own) => applySchema(own, {})]) {
    const error = await open(url).catch((one) => one)
    t.type(error, DatabaseError)
    t.match(error.message, message)
  }
})

t.test('a second lab on the same database is refused while the first is on', async (t) => {
  const { url } = await newDatabase(t)
  const first = await openDatabase(url)
  await t.rejects(openDatabase(url), { message: /expected a database for this run alone/ })
  await first.close()
  await (await openDatabase(url)).close()
})

t.test('a database whose commits are not durable is named', async (t) => {
  const database = await openDatabase((await newDatabase(t)).url)
  const warned = database.warnings.filter((text) => text.includes('fsync'))
  t.strictSame(warned, ['Postgres has fsync = off: a 201 may be lost in a crash'])
  await database.close()
})

t.test('what cannot be opened is refused with what was expected', async (t) => {
  const wrongs = [
    ['postgres://nobody@127.0.0.1:1/none', /expected a Postgres that answers, got: .*ECONNREFUSED/],
    ['nonsense', /expected a URL/],
    ['postgres://h/d?sslmode=no-verify', /DATABASE_URL: expected sslmode verify-full .* got "no-verify"/],
    ['postgres://h/d?sslmode=require', /expected sslmode verify-full/],
    ['postgres://h/d?sslmode=verify-full&sslmode=no-verify', /expected each of sslmode, .* at most once, got sslmode/],
    ['postgres://h/d?ssl=no-verify', /at most once, got ssl/],
    ['postgres://app:7?s3cret@h/d', /at most once, got another \(a \? in a password is written %3F\)$/],
    ['postgres://h/d?uselibpqcompat=true&sslmode=verify-full', /at most once, got uselibpqcompat/],
  ]
  for (const [url, message] of /** @type {[string, RegExp][]} */ (wrongs)) {
    const error = await openDatabase(url).catch((thrown) => thrown)
    t.type(error, DatabaseError, url)
    t.match(error.message, message)
  }
})

t.test('a role without the privilege to apply the schema gets an error that says what it needs', async (t) => {
  const { url } = await newDatabase(t)
  const poor = Object.assign(new URL(url), { username: `poor_${process.pid}`, password: 'poor' })
  await rows(url, `CREATE ROLE ${poor.username} LOGIN PASSWORD 'poor'`)
  t.teardown(() => rows(url, `DROP ROLE ${poor.username}`))
  const error = await applySchema(String(poor), {}).catch((thrown) => thrown)
  t.type(error, DatabaseError)
  t.match(error.message, /expected a role that .*: GRANT CREATE ON SCHEMA public TO "poor_\d+", got: permission denied/)
})

t.test('the environment does not loosen TLS either', async (t) => {
  await t.rejects(openDatabase('postgres://h/d', { pg: { PGSSLMODE: 'no-verify' } }), {
    message: /PGSSLMODE: expected/,
  })
  await t.rejects(openDatabase('postgres://h/d', { pg: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }), {
    message: /expected it unset/,
  })
})

/** `npm run database`, until it says where it serves. @param {any} t */
async function serve(t) {
  const child = spawn(process.execPath, ['--import=./test/support/copied-postgres.js', 'sql/cli.js'], {
    env: { ...process.env, DATABASE_URL: '' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  const url = await firstLine('the URL of npm run database', child.stdout)
  const [{ folder, pid }] = await rows(
    url,
    `SELECT current_setting('data_directory') AS folder,
            split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int AS pid`,
  )
  return { child, folder, pid }
}

t.test('npm run database serves until it is told to stop, and leaves nothing', async (t) => {
  const all = await Promise.all([serve(t), serve(t)])
  for (const [i, signal] of /** @type {const} */ (['SIGINT', 'SIGHUP']).entries()) {
    const { child, folder, pid } = all[i]
    t.ok(fs.existsSync(folder), 'it is there while it serves')
    child.kill(signal)
    const [code] = await once(child, 'exit')
    t.equal(code, 130)
    t.notOk(fs.existsSync(path.dirname(folder)))
    t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  }
})

t.test('npm run database says in one line why Postgres did not start, and leaves nothing', (t) => {
  const TMPDIR = t.testdir({})
  // A stand-in for a full disk: no file of Postgres may be longer than 20 blocks.
  const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -f 20; exec "$0" sql/cli.js', process.execPath], {
    // Nor could a file of the coverage be longer.
    env: { ...process.env, TMPDIR, NODE_V8_COVERAGE: '' },
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.match(stderr, /^redline: Postgres did not start in \/.*; it said: .+\n$/)
  t.strictSame(fs.readdirSync(TMPDIR), [])
  t.end()
})

t.test('npm run database ends when Postgres does', async (t) => {
  const { child, folder, pid } = await serve(t)
  process.kill(pid, 'SIGINT')
  const [said, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')])
  t.equal(code, 1)
  t.match(Buffer.concat(said).toString(), /Postgres ended unexpectedly/)
  t.notOk(fs.existsSync(path.dirname(folder)))
})

t.test('when its owner is killed, so is Postgres', { skip: without('setpriv', '--version') }, async (t) => {
  const program = `
    import { startServer } from './test/support/postgres.js'
    const { pid, folder } = await startServer()
    console.log(JSON.stringify({ pid: pid(), folder }))
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => owner.kill('SIGKILL'))
  const { pid, folder } = JSON.parse(await firstLine('the pid of Postgres', owner.stdout))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  t.match(fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8'), folder, 'it runs')
  owner.kill('SIGKILL')
  await until('Postgres to end', () => !isRunning(pid), 30_000)
  t.pass('it is gone')
})

/** A zombie has ended. @param {number} pid */
function isRunning(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

const asUser = withoutRoot() ? [] : ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

t.test(
  'from a checkout without the links of an install script',
  { skip: asUser[0] && without('setpriv', '--version') },
  async (t) => {
    const folder = copyCheckout(t)
    /** @type {Set<string | undefined>} */
    const passwords = new Set([new URL(server.url).password])
    await t.test('as an ordinary user', async (t) => {
      const { stdout, stderr } = openDatabaseIn(folder, asUser)
      t.match(stdout, OUTPUT, stderr)
      t.equal(passwords.add(OUTPUT.exec(stdout)?.[1]).size, 2, 'with a password of its own')
    })
    await t.test('as root, where it is of mode 700 through and through', { skip: withoutRoot() }, async (t) => {
      spawnSync('chmod', ['-R', 'go-rwx', folder])
      t.equal(fs.statSync(`${folder}/checkout/sql/cli.js`).mode & 0o077, 0)
      const { stdout, stderr } = openDatabaseIn(folder)
      t.match(stdout, OUTPUT, stderr)
      t.equal(passwords.add(OUTPUT.exec(stdout)?.[1]).size, 3)
    })
  },
)

// The last two: the server is gone then.
t.test('data survives a crash of the server', async (t) => {
  await rows(server.url, 'CREATE TABLE kept AS SELECT 1 AS n')
  const database = await openDatabase(server.url)
  await server.halt('SIGKILL')
  await t.rejects(rows(server.url, 'SELECT 1'), { code: 'ECONNREFUSED' })
  // A session may answer once more before it notices that its postmaster has gone.
  const untilLost = async () => {
    while (true) await database.query('SELECT 1')
  }
  await t.rejects(untilLost(), {
    constructor: DatabaseError,
    // It may still tell so.
    message:
      /^expected Postgres to stay up, lost the connection: (Connection terminated unexpectedly|terminating connection)/,
  })
  await database.close()
  await server.start()
  t.strictSame(await rows(server.url, 'SELECT n FROM kept'), [{ n: 1 }])
})

t.test('stop leaves neither process nor folder', async (t) => {
  const pid = server.pid()
  process.kill(pid, 0)
  t.ok(fs.existsSync(server.folder))
  await server.stop()
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  t.notOk(fs.existsSync(server.folder))
})
