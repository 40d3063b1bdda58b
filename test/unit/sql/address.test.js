import pg from 'pg'
import t from 'tap'
import { explicitAddress } from '../../../sql/address.js'
import { DatabaseError } from '../../../sql/connection.js'

const LAB = '-c search_path=redline_lab'
const PG = { PGHOST: 'h', PGPORT: '6', PGUSER: 'u', PGPASSWORD: 'p', PGDATABASE: 'd', PGOPTIONS: '-c a=b' }

t.test('one URL says everything, whatever the environment of whoever uses it', async (t) => {
  /** @type {[string, Record<string, string>, Record<string, any>][]} */
  const cases = [
    [
      'postgres://a:b@host:7/db',
      PG,
      { host: 'host', port: 7, user: 'a', password: 'b', database: 'db', options: `-c a=b ${LAB}` },
    ],
    ['postgres:///', PG, { host: 'h', port: 6, user: 'u', password: 'p', database: 'd', options: `-c a=b ${LAB}` }],
    [
      'postgres://a@host',
      {},
      { host: 'host', port: 5432, user: 'a', password: undefined, database: 'a', options: LAB },
    ],
    ['postgres:///db?host=/var/run/pg', PG, { host: '/var/run/pg', port: 6, database: 'db' }],
    ['postgres://a:b@%2Fvar%2Frun:7/db', {}, { host: '/var/run', port: 7, database: 'db' }],
    ['postgres://a:b@[::1]:7/db', {}, { host: '::1', port: 7 }],
    ['postgres://a:b@x/db?host=y&port=9', {}, { host: 'y', port: 9 }],
    ['postgres://a%40b:p%25%2F%3A@h/my%20db', {}, { user: 'a@b', password: 'p%/:', database: 'my db' }],
    ['postgres://h/a%2Fb', {}, { database: 'a%2Fb' }],
    ['postgres://h/db?application_name=x', { PGAPPNAME: 'y' }, { application_name: undefined }],
    ['postgres://h/db?options=-c%20search_path%3Dtheirs', PG, { options: '-c search_path=theirs' }],
    ['postgres://h/db', { PGOPTIONS: '--search-path=theirs' }, { options: '--search-path=theirs' }],
    ['postgres://h/db', { PGSSLMODE: 'verify-full' }, { ssl: {} }],
    ['postgres://h/db?sslmode=disable', { PGSSLMODE: 'verify-full' }, { ssl: false }],
  ]
  const wrong = { PGHOST: 'wrong', PGPORT: '1', PGUSER: 'wrong', PGDATABASE: 'wrong', PGSSLMODE: 'disable' }
  t.teardown(() => {
    for (const name of Object.keys(wrong)) delete process.env[name]
  })
  for (const [given, variables, expected] of cases) {
    const { url } = explicitAddress(given, variables)
    Object.assign(process.env, wrong)
    const client = new pg.Client({ connectionString: url })
    for (const name of Object.keys(wrong)) delete process.env[name]
    const { connectionParameters } = /** @type {any} */ (client)
    const found = { ...connectionParameters, password: client.password }
    const names = Object.keys(expected)
    t.ok(names.length > 0)
    for (const name of names) t.strictSame(found[name] ?? undefined, expected[name], `${given}: ${name}`)
  }
})

t.test('a search path that is named is not the lab’s own', async (t) => {
  t.equal(explicitAddress('postgres://h/db').ownSchema, true)
  t.equal(explicitAddress('postgres://h/db', { PGOPTIONS: '-c statement_timeout=1' }).ownSchema, true)
  for (const options of ['-c search_path=x', '-csearch_path=x', '-c a=b -c SEARCH_PATH=x', '--search_path=x']) {
    t.equal(explicitAddress('postgres://h/db', { PGOPTIONS: options }).ownSchema, false, options)
  }
})

t.test('what pg would read in another way, or not at all, is refused', async (t) => {
  for (const url of [
    'nonsense',
    'mysql://h/d',
    'postgres://u:50%@h/d',
    'postgres://h/d?target_session_attrs=any',
    'postgres://h/d?host=a&host=b',
    'postgres://h/d?port=x',
  ]) {
    try {
      t.fail(`${url}: ${explicitAddress(url).url}`)
    } catch (error) {
      t.type(error, DatabaseError, url)
    }
  }
})

t.test('TLS files without TLS are refused: their server would be spoken to in plain text', async (t) => {
  for (const [url, variables] of /** @type {[string, Record<string, string>][]} */ ([
    ['postgres://h/db?sslrootcert=ca.pem', {}],
    ['postgres://h/db?sslcert=own.pem&sslkey=key.pem', {}],
    ['postgres://h/db?sslmode=disable&sslrootcert=ca.pem', {}],
    ['postgres://h/db?sslmode=disable&sslrootcert=ca.pem', { PGSSLMODE: 'verify-full' }],
  ])) {
    const message = /^DATABASE_URL: expected sslmode=verify-full with ssl\w+, got (none|disable)$/
    t.throws(() => explicitAddress(url, variables), { message }, url)
  }
  for (const [url, variables] of /** @type {[string, Record<string, string>][]} */ ([
    ['postgres://h/db?sslmode=verify-full&sslrootcert=ca.pem', {}],
    ['postgres://h/db?sslrootcert=ca.pem', { PGSSLMODE: 'verify-full' }],
  ])) {
    t.match(explicitAddress(url, variables).url, /\?sslmode=verify-full&sslrootcert=ca\.pem&/, url)
  }
})

t.test('several hosts are refused by name', async (t) => {
  for (const [url, variables] of /** @type {[string, Record<string, string>][]} */ ([
    ['postgres://a:1,b:2/db', {}],
    ['postgres://u:p@a,b/db', {}],
    ['postgres:///db?host=a,b', {}],
    ['postgres:///db', { PGHOST: 'a,b' }],
  ])) {
    t.throws(() => explicitAddress(url, variables), { message: /expected one host, got several/ }, url)
  }
  t.equal(explicitAddress('postgres://u:p,q@h/db').ownSchema, true, 'a comma in a password is no matter')
})
