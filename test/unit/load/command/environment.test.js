import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readEnvironment, withDatabase, withoutProxies } from '../../../../load/command/environment.js'
import { UsageError } from '../../../../load/command/errors.js'
import { resolveText } from '../../../../load/command/references.js'
import { caught } from '../../../support/caught.js'

/** @import { GivenDatabase } from '../../../../load/command/environment.js' */

const URL_A = 'postgres://a/a'
const URL_B = 'postgres://b/b'

t.test('which database is meant, and whether a run may empty a table in it', async (t) => {
  const file = path.join(t.testdir(), '.env')
  fs.writeFileSync(file, `DATABASE_URL=${URL_A}\nPGHOST=of-the-file\nPGUSER=of-the-file\n`)
  const variables = { PGUSER: 'of-the-environment' }
  const ofFile = { PGHOST: 'of-the-file', ...variables }
  /** @type {[string, Record<string, string>, string | undefined, GivenDatabase][]} */
  const cases = [
    ['.env alone', variables, undefined, { url: URL_A, isNamed: false, pg: ofFile }],
    ['the environment', { ...variables, DATABASE_URL: URL_B }, undefined, { url: URL_B, isNamed: true, pg: variables }],
    [
      'an empty variable',
      { ...variables, DATABASE_URL: '' },
      undefined,
      { url: undefined, isNamed: true, pg: variables },
    ],
    ['the flag', { ...variables, DATABASE_URL: URL_A }, URL_B, { url: URL_B, isNamed: true, pg: variables }],
    ['the flag beside .env', variables, URL_A, { url: URL_A, isNamed: true, pg: variables }],
    ['embedded beside .env', variables, 'embedded', { url: undefined, isNamed: true, pg: variables }],
  ]
  for (const [name, env, flag, expected] of cases) {
    t.strictSame(withDatabase(readEnvironment(env, file), flag).database, expected, name)
  }
})

t.test('variables that merely begin with PG are left alone', async (t) => {
  const file = path.join(t.testdir(), '.env')
  const names = { PGTOK: 'mine', PGPASSFILE: 'p', PGHOST: 'h', PGSSLROOTCERT: 'ca', PGSERVICE: 's' }
  const { pg } = readEnvironment({ ...names, DATABASE_URL: URL_A }, file).database
  t.strictSame(pg, { PGHOST: 'h', PGSSLROOTCERT: 'ca', PGSERVICE: 's' })
  Object.assign(process.env, names)
  t.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name]
  })
  readEnvironment(process.env, file)
  t.strictSame(
    Object.keys(names).filter((name) => process.env[name] !== undefined),
    ['PGTOK', 'PGPASSFILE'],
  )
  t.equal(
    resolveText('postgres-url', 'postgres://{{env PGHOST}}/'),
    'postgres://h/',
    'what was removed can be referred to',
  )
})

t.test('a program that must connect directly is given no proxy settings', async (t) => {
  const proxies = { HTTP_PROXY: 'http://p:1', https_proxy: 'http://p:2', ALL_PROXY: 'http://p:3' }
  Object.assign(process.env, proxies, { HTTP_PROXY_OF_ANOTHER: 'x' })
  t.teardown(() => {
    for (const name of [...Object.keys(proxies), 'HTTP_PROXY_OF_ANOTHER']) delete process.env[name]
  })
  const { HTTP_PROXY_OF_ANOTHER, PATH, ...others } = withoutProxies()
  t.strictSame([HTTP_PROXY_OF_ANOTHER, PATH], ['x', process.env.PATH])
  t.strictSame(
    Object.keys(proxies).filter((name) => name in others),
    [],
  )
})

t.test('.env that cannot be read is refused in one plain line', async (t) => {
  const folder = t.testdir({ '.env': {} })
  const error = caught(() => readEnvironment({}, `${folder}/.env`))
  t.type(error, UsageError)
  t.equal(error.message, `expected a file with NAME=value lines, got ${folder}/.env, which cannot be read (EISDIR)`)
})

t.test('a line of .env that sets nothing is refused by its number', async (t) => {
  const file = path.join(t.testdir(), '.env')
  for (const text of ['POOL_MAX 7', 'A=1\n# fine\nsecret', 'A="two\nlines"\nsecret']) {
    fs.writeFileSync(file, `${text}\n`)
    const { message } = caught(() => readEnvironment({}, file))
    const line = text.split('\n').length
    t.equal(message, `${file}, line ${line}: expected NAME=value or # with a comment, got something else`)
  }
})

t.test('.env may hold what dotenv understands', async (t) => {
  const file = path.join(t.testdir(), '.env')
  fs.writeFileSync(
    file,
    '\ufeff# about\r\n\r\n  A=1 # one\r\nexport B = two\nC="x\n  y z\n"\nD=\'p\nq\' # end\nE=`r\ns`\nF: colon\nG=\nH="#no"\nI=a b "c\n  # end',
  )
  const { A, B, C, D, E, F, G, H, I } = readEnvironment({}, file).settings
  t.strictSame([A, B, C, D, E, F, G, H], ['1', 'two', 'x\n  y z\n', 'p\nq', 'r\ns', 'colon', '', '#no'])
  t.equal(I, 'a b "c')
})
