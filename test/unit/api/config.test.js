import { readFileSync } from 'node:fs'
import t from 'tap'
import { ConfigError, readConfig, threadsOf, warningsOf } from '../../../api/config.js'
import { checkDatabaseSettings } from '../../../api/connections.js'
import { SETTINGS } from '../../../api/settings.js'
import { caught } from '../../support/caught.js'

const NO_FILE = '/no/such/file'

t.test('without anything set, every setting has its default', async (t) => {
  const config = readConfig({}, NO_FILE)
  t.match(config, { port: 3000, host: '127.0.0.1', poolMax: 20, insertMode: 'batched', bodyLimitBytes: 16_384 })
  t.ok(Object.isFrozen(config))
})

t.test('a value that is not as expected stops with one line that says what was', async (t) => {
  const rows = [
    [{ POOL_MAX: '0' }, 'POOL_MAX: expected a whole number from 1 to 10000 (connections), got "0"'],
    [{ POOL_MAX: 'abc' }, 'POOL_MAX: expected a whole number from 1 to 10000 (connections), got "abc"'],
    [{ POOL_MAX: '1.5' }, /got "1\.5"/],
    [{ POOL_MAX: '-1' }, /got "-1"/],
    [{ POOL_MAX: '1e3' }, /got "1e3"/],
    [{ POOL_MAX: ' 5' }, /got " 5"/],
    [{ POOL_MAX: '0x10' }, /got "0x10"/],
    [{ POOL_MAX: '99999999999999999999' }, /expected/],
    [{ POOL_CONNECT_TIMEOUT_MS: '2s' }, /\(milliseconds\), got "2s"/],
    [{ KEEP_ALIVE_TIMEOUT_MS: '5s' }, /\(milliseconds\), got "5s"/],
    [{ BODY_LIMIT_BYTES: '16KiB' }, /\(bytes\), got "16KiB"/],
    [{ PORT: '65536' }, /from 0 to 65535/],
    [{ HOST: 'not a host' }, /HOST: expected an IP address or host name/],
    [{ INSERT_MODE: 'batch' }, 'INSERT_MODE: expected one of single, prepared, pipelined, batched, got "batch"'],
    [{ PASSWORD_STORAGE: 'md5' }, 'PASSWORD_STORAGE: expected one of plain, scrypt, got "md5"'],
    [{ LOG_LEVEL: 'INFO' }, /LOG_LEVEL: expected one of/],
    [{ DATABASE_URL: 'mysql://host/db' }, /DATABASE_URL: expected a URL such as postgres:/],
    [{ DATABASE_URL: 'nonsense' }, /DATABASE_URL: expected/],
    [{ DATABASE_URL: 'postgres:mydb' }, /DATABASE_URL: expected a URL such as postgres:/],
    [{ DATABASE_URL: 'postgres://a,b/d' }, /^DATABASE_URL: expected one host, got several$/],
    [{ DATABASE_URL: 'postgres://u:p@a:5432,b:5432/d' }, /^DATABASE_URL: expected one host, got several$/],
    [{ DATABASE_URL: 'postgres:///d?host=a,b' }, /^DATABASE_URL: expected one host, got several$/],
    [{ DATABASE_URL: 'postgres:///d', PGHOST: 'a,b' }, /^PGHOST: expected one host, got several$/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=require' }, /sslmode in DATABASE_URL: expected verify-full/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=no-verify' }, /expected verify-full/],
    [{ DATABASE_URL: 'postgres://h/d?ssl=no-verify' }, /expected each of sslmode, .* at most once, got ssl/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=verify-full&sslmode=no-verify' }, /at most once, got sslmode/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=&sslmode=no-verify' }, /at most once, got sslmode/],
    [{ DATABASE_URL: 'postgres://app:7?s3cret@h/d' }, /got another \(a \? in a password is written %3F\)$/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=' }, /expected verify-full/],
    [{ DATABASE_URL: 'postgres://h/d?sslmod=verify-full' }, /got sslmod$/],
    [{ DATABASE_URL: 'postgres://h/d?statement_timeout=1' }, /got statement_timeout/],
    [{ DATABASE_URL: 'postgres://h/d?sslrootcert=package.json' }, /expected sslmode=verify-full with sslrootcert/],
    [{ DATABASE_URL: 'postgres://h/d?sslmode=verify-full&sslrootcert=/no/such/ca' }, /sslrootcert .*expected a file/],
    [{ PGSSLMODE: 'no-verify' }, /PGSSLMODE: expected verify-full/],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, /NODE_TLS_REJECT_UNAUTHORIZED: expected it unset/],
  ]
  for (const [env, message] of /** @type {[any, string | RegExp][]} */ (rows)) {
    const error = caught(() => readConfig(env, NO_FILE))
    t.type(error, ConfigError, JSON.stringify(env))
    t.match(error.message, message)
    t.notMatch(error.message, '\n')
  }
})

t.test('what pg would stumble over is refused at the start', async (t) => {
  for (const databaseUrl of ['postgres://u:p%e9x@h/d', 'postgres://h:0/d']) {
    const error = caught(() => checkDatabaseSettings(readConfig({ DATABASE_URL: databaseUrl }, NO_FILE)))
    t.type(error, ConfigError, databaseUrl)
    t.match(error.message, /expected what pg takes/)
  }
})

t.test('an empty variable is not set, PGSSLMODE included', async (t) => {
  t.equal(readConfig({ PGSSLMODE: '', POOL_MAX: '' }, NO_FILE).poolMax, 20)
})

t.test('a password in DATABASE_URL is not part of the error', async (t) => {
  const { message } = caught(() => readConfig({ DATABASE_URL: 'mysql://me:hunter2@host/db' }, NO_FILE))
  t.notMatch(message, 'hunter2')
})

t.test('a way to the database that others could read is warned of', async (t) => {
  const warnings = (/** @type {Record<string, string>} */ env) => {
    return warningsOf(readConfig({ PASSWORD_STORAGE: 'scrypt', ...env }, NO_FILE), env).length
  }
  t.equal(warnings({ DATABASE_URL: 'postgres://db.example.com/d' }), 1)
  t.equal(warnings({ PGHOST: 'db.example.com' }), 1)
  t.equal(warnings({ DATABASE_URL: 'postgres://db.example.com/d?sslmode=verify-full' }), 0)
  t.equal(warnings({ PGHOST: 'db.example.com', PGSSLMODE: 'verify-full' }), 0)
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    t.equal(warnings({ DATABASE_URL: `postgres://${host}/d` }), 0, host)
  t.equal(warnings({}), 0)
  t.equal(warnings({ DATABASE_URL: 'postgres://127.evil.example/d' }), 1)
  t.equal(warnings({ DATABASE_URL: 'postgres:///d', PGHOST: 'db.example.com' }), 1)
  t.equal(warnings({ PASSWORD_STORAGE: 'plain' }), 1)
})

t.test('the environment comes before .env, .env before the default, and empty means not set', async (t) => {
  const file = `${t.testdir({ env: 'POOL_MAX=7\nBODY_LIMIT_BYTES=100\nLOG_LEVEL=\n' })}/env`
  t.match(readConfig({ POOL_MAX: '8' }, file), { poolMax: 8, bodyLimitBytes: 100, logLevel: 'info' })
  t.equal(readConfig({ POOL_MAX: '' }, file).poolMax, 7, 'an empty variable does not hide that of .env')
})

t.test('a comma that is no list of hosts is fine', async (t) => {
  const fine = [
    { DATABASE_URL: 'postgres://u:p,w@h/d,e' },
    { DATABASE_URL: 'postgres:///d?host=/run/a,b' },
    { DATABASE_URL: 'postgres://h/d', PGHOST: 'a,b' },
  ]
  for (const env of fine) t.equal(readConfig(env, NO_FILE).databaseUrl, env.DATABASE_URL)
})

t.test('an empty variable of pg in the environment does not hide that of .env', async (t) => {
  const file = `${t.testdir({ env: 'PGHOST=of-the-file\n' })}/env`
  process.env.PGHOST = ''
  t.teardown(() => delete process.env.PGHOST)
  readConfig({}, file)
  t.equal(process.env.PGHOST, 'of-the-file')
})

t.test('a .env that cannot be read stops with one line', async (t) => {
  const error = caught(() => readConfig({}, t.testdir({ folder: {} })))
  t.type(error, ConfigError)
  t.match(error.message, /: expected a file with settings that this user may read, got EISDIR$/)
})

t.test('a name in .env that is no setting is refused', async (t) => {
  for (const name of ['toString', 'PGHSOT', 'NODE_EXTRA_CA_CERTS', 'PGSSLROOTCERT']) {
    const bad = `${t.testdir({ env: `${name}=1\n` })}/env`
    t.match(caught(() => readConfig({}, bad)).message, `got "${name}"`)
  }
  const file = `${t.testdir({ env: 'POOL_MXA=7\n' })}/env`
  t.match(caught(() => readConfig({}, file)).message, /expected only known settings .*, got "POOL_MXA"/)
})

t.test('.env.example lists every setting with its default, unit and range', async (t) => {
  const example = readFileSync('.env.example', 'utf8')
  t.match(example, '# Expected: a whole number from 1 to 10000 (connections)\n#POOL_MAX=20\n')
  t.equal(example.match(/^#[A-Z_]+=/gm)?.length, Object.keys(SETTINGS).length)
  const file = `${t.testdir({ env: example.replace(/^#(?=[A-Z_]+=)/gm, '') })}/env`
  t.strictSame(readConfig({}, file), readConfig({}, NO_FILE), 'as it stands, it changes nothing')
})

t.test('as many threads hash as libuv starts', async (t) => {
  const rows = /** @type {[string | undefined, number][]} */ ([
    [undefined, 4],
    ['16', 16],
    ['0', 1],
    ['', 1],
    ['many', 1],
    ['8 threads', 8],
    ['-1', 1024],
    ['5000', 1024],
  ])
  for (const [size, threads] of rows) t.equal(threadsOf(size), threads, `UV_THREADPOOL_SIZE=${size}`)
})
