import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import t from 'tap'
import { DatabaseError, openDatabase } from '../../../sql/database.js'
import { startEmbedded } from '../../../sql/embedded.js'
import { copyCheckout, openDatabaseIn } from '../../support/checkout.js'
import { rows } from '../../support/database.js'
import { without, withoutRoot } from '../../support/skip.js'

const OUTPUT = /^\d+\.\d+ 0\n$/

const server = await startEmbedded()
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

t.test('its password is its own, and needed', async (t) => {
  const other = await startEmbedded()
  t.teardown(() => other.stop())
  t.not(new URL(other.url).port, new URL(server.url).port, 'two at once have ports of their own')
  t.not(new URL(other.url).password, new URL(server.url).password)
  const wrong = new URL(server.url)
  wrong.password = 'wrong'
  await t.rejects(rows(String(wrong), 'SELECT 1'), { code: '28P01' })
})

t.test('open, reset, count and close', async (t) => {
  const database = await openDatabase(server.url)
  t.match(database, { kind: 'given', schema: 'redline_lab' })
  t.strictSame(database.warnings, [])
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

t.test('a second lab on the same database is refused while the first is on', async (t) => {
  const first = await openDatabase(server.url)
  t.type(await openDatabase(server.url).catch((error) => error), DatabaseError)
  await first.close()
  await (await openDatabase(server.url)).close()
})

t.test('a database whose commits are not durable is named', async (t) => {
  const fast = await startEmbedded({ settings: { fsync: 'off' } })
  t.teardown(() => fast.stop())
  const database = await openDatabase(fast.url)
  t.strictSame(database.warnings, ['Postgres has fsync = off: a 201 may be lost in a crash'])
  await database.close()
})

t.test('what cannot be opened is refused with what was expected', async (t) => {
  const wrongs = [
    ['postgres://nobody@127.0.0.1:1/none', /expected a Postgres that answers, got: .*ECONNREFUSED/],
    ['nonsense', /expected a URL/],
    ['postgres://h/d?sslmode=no-verify', /DATABASE_URL: expected sslmode verify-full .* got "no-verify"/],
    ['postgres://h/d?sslmode=require', /expected sslmode verify-full/],
    ['postgres://h/d?sslmode=verify-full&sslmode=no-verify', /expected no TLS parameter but one sslmode/],
    ['postgres://h/d?ssl=no-verify', /expected no TLS parameter/],
    ['postgres://h/d?uselibpqcompat=true&sslmode=verify-full', /expected no TLS parameter/],
  ]
  for (const [url, message] of /** @type {[string, RegExp][]} */ (wrongs)) {
    const error = await openDatabase(url).catch((thrown) => thrown)
    t.type(error, DatabaseError, url)
    t.match(error.message, message)
  }
})

t.test('the environment does not loosen TLS either', async (t) => {
  await t.rejects(openDatabase('postgres://h/d', { pg: { PGSSLMODE: 'no-verify' } }), {
    message: /PGSSLMODE: expected/,
  })
  await t.rejects(openDatabase('postgres://h/d', { pg: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }), {
    message: /expected it unset/,
  })
})

t.test('npm run database serves until it is told to stop, and leaves nothing', async (t) => {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGHUP'])) {
    const child = spawn(process.execPath, ['sql/cli.js'], { env: { ...process.env, DATABASE_URL: '' } })
    const [url] = await once(child.stdout, 'data')
    const [{ folder }] = await rows(String(url).trim(), "SELECT current_setting('data_directory') AS folder")
    child.kill(signal)
    const [code] = await once(child, 'exit')
    t.equal(code, 130)
    t.notOk(fs.existsSync(folder))
  }
})

t.test('npm run database ends when Postgres does', async (t) => {
  const child = spawn(process.execPath, ['sql/cli.js'], { env: { ...process.env, DATABASE_URL: '' } })
  const [url] = await once(child.stdout, 'data')
  const [{ pid }] = await rows(
    String(url).trim(),
    "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid",
  )
  process.kill(Number(pid), 'SIGINT')
  const [said, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')])
  t.equal(code, 1)
  t.match(Buffer.concat(said).toString(), /Postgres ended by itself/)
})

t.test('data survives a crash of the server', async (t) => {
  const database = await startEmbedded()
  t.teardown(() => database.stop())
  await rows(database.url, 'CREATE TABLE kept AS SELECT 1 AS n')
  await database.halt('SIGKILL')
  await t.rejects(rows(database.url, 'SELECT 1'), { code: 'ECONNREFUSED' })
  await database.start()
  t.strictSame(await rows(database.url, 'SELECT n FROM kept'), [{ n: 1 }])
})

t.test('stop leaves neither process nor folder', async (t) => {
  const database = await startEmbedded()
  const pid = database.pid()
  await database.stop()
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
  t.notOk(fs.existsSync(database.folder))
})

t.test('when its owner is killed, so is Postgres', { skip: without('setpriv', '--version') }, async (t) => {
  const program = `
    import { startEmbedded } from './sql/embedded.js'
    const { pid, folder } = await startEmbedded()
    console.log(JSON.stringify({ pid: pid(), folder }))
    setInterval(() => {}, 1000)`
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(owner.stdout, 'data')
  const { pid, folder } = JSON.parse(line)
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  owner.kill('SIGKILL')
  while (fs.existsSync(`/proc/${pid}`)) await new Promise((resolve) => setTimeout(resolve, 20))
  t.pass('it is gone')
})

t.test('as root, from a checkout of mode 700 through and through', { skip: withoutRoot() }, async (t) => {
  const folder = copyCheckout(t)
  fs.chmodSync(folder, 0o700)
  spawnSync('chmod', ['-R', 'go-rwx', folder])
  const { stdout, stderr } = openDatabaseIn(folder)
  t.match(stdout, OUTPUT, stderr)
})

t.test('as an ordinary user, without the links of an install script', async (t) => {
  const folder = copyCheckout(t)
  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  const { stdout, stderr } = openDatabaseIn(folder, withoutRoot() ? [] : nobody)
  t.match(stdout, OUTPUT, stderr)
})
