import { scryptSync } from 'node:crypto'
import t from 'tap'
import { PROBLEMS } from '../../../api/errors.js'
import { logged, logLines, metric, newUser, post } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { connect, ended, rawPost } from '../../support/socket.js'

/** @import { ApiHere } from '../../support/api-here.js' */

const JSON_TYPE = { 'Content-Type': 'application/json' }
const user = { email: 'ada@example.com', password: 'secret' }
const long = 'x'.repeat(256)

const database = await newDatabase(t)
const api = await startHere(t, database.url)

t.test('POST /user stores a user, and its Location does not dangle', async (t) => {
  const before = newUser()
  const answer = await post(api.url, before)
  t.equal(answer.status, 201)
  t.equal(answer.headers.get('content-type'), 'application/json')
  t.strictSame(await answer.json(), { message: 'User created' })

  const location = answer.headers.get('location') ?? ''
  t.match(location, /^\/user\/[1-9]\d*$/)
  const stored = await rows(database.url, 'SELECT email, password FROM users WHERE id = $1', [
    location.slice('/user/'.length),
  ])
  t.strictSame(stored, [before])

  const found = await fetch(new URL(location, api.origin))
  t.equal(found.status, 200)
  t.strictSame(await found.json(), { id: Number(location.slice('/user/'.length)) }, 'the id, and no address')
})

/** @type {[number, string, string, () => Promise<Response>][]} */
const wrong = [
  [400, 'malformed_json', 'JSON that ends early', () => post(api.url, '{"email":"a@b","password":')],
  [400, 'malformed_json', 'no body at all', () => post(api.url, '')],
  [400, 'malformed_json', 'a NUL byte in the JSON', () => post(api.url, '{"email":"a@b",\0"password":"x"}')],
  [400, 'malformed_json', 'bytes that are no UTF-8', () => post(api.url, Buffer.from('7b22656d61696c22ff', 'hex'))],
  [400, 'invalid_user', 'an array', () => post(api.url, [user])],
  [400, 'invalid_user', 'null', () => post(api.url, 'null')],
  [400, 'invalid_user', 'a string', () => post(api.url, '"ada@example.com"')],
  [400, 'invalid_user', 'no email', () => post(api.url, { password: 'secret' })],
  [400, 'invalid_user', 'no password', () => post(api.url, { email: 'ada@example.com' })],
  [400, 'invalid_user', 'a number for an email', () => post(api.url, { ...user, email: 7 })],
  [400, 'invalid_user', 'an object for a password', () => post(api.url, { ...user, password: { $ne: 1 } })],
  [400, 'invalid_user', 'null for an email', () => post(api.url, { ...user, email: null })],
  [400, 'invalid_user', 'an empty email', () => post(api.url, { ...user, email: '' })],
  [400, 'invalid_user', 'an empty password', () => post(api.url, { ...user, password: '' })],
  [400, 'invalid_user', 'no @ in the email', () => post(api.url, { ...user, email: 'ada' })],
  [400, 'invalid_user', 'a NUL character in the email', () => post(api.url, { ...user, email: 'a\0@b' })],
  [400, 'invalid_user', 'a NUL character in the password', () => post(api.url, { ...user, password: '\0' })],
  [400, 'invalid_user', 'a lone surrogate', () => post(api.url, '{"email":"a@b","password":"\\ud800"}')],
  [400, 'invalid_user', 'an email of 256 characters', () => post(api.url, { ...user, email: `${long.slice(4)}@b.c` })],
  [400, 'invalid_user', 'a password of 256 characters', () => post(api.url, { ...user, password: long })],
  [413, 'body_too_large', 'a body over the limit', () => post(api.url, { ...user, password: 'x'.repeat(20_000) })],
  [413, 'body_too_large', 'a body over the limit, of unknown length', () => postStream('x'.repeat(20_000))],
  [
    415,
    'unsupported_media_type',
    'a form',
    () => post(api.url, 'email=a', { 'Content-Type': 'application/x-www-form-urlencoded' }),
  ],
  [415, 'unsupported_media_type', 'no content type', () => post(api.url, Buffer.from('{}'), {})],
  [
    415,
    'unsupported_media_type',
    'JSON in Latin-1',
    () => post(api.url, user, { 'Content-Type': 'application/json; charset=latin1' }),
  ],
  [
    415,
    'unsupported_media_type',
    'a compressed body',
    () => post(api.url, user, { ...JSON_TYPE, 'Content-Encoding': 'gzip' }),
  ],
  [
    415,
    'unsupported_media_type',
    'a type of 16,000 characters',
    () => post(api.url, user, { 'Content-Type': `application/json${' '.repeat(15_000)}x` }),
  ],
  [404, 'not_found', 'an unknown path', () => fetch(`${api.origin}/users`)],
  [404, 'not_found', 'an unknown path with POST', () => post(`${api.origin}/`, user)],
  [404, 'not_found', 'an id that nobody has', () => fetch(`${api.url}/2147483647`)],
  [404, 'not_found', 'an id beyond bigint', () => fetch(`${api.url}/99999999999999999999`)],
  [404, 'not_found', 'an id that is none', () => fetch(`${api.url}/1;drop%20table%20users`)],
  [404, 'not_found', 'id 0', () => fetch(`${api.url}/0`)],
  [404, 'not_found', 'an id with a leading zero', () => fetch(`${api.url}/01`)],
  [405, 'method_not_allowed', 'GET /user', () => fetch(api.url)],
  [405, 'method_not_allowed', 'DELETE /user/1', () => fetch(`${api.url}/1`, { method: 'DELETE' })],
  [405, 'method_not_allowed', 'PUT /openapi.json', () => fetch(`${api.origin}/openapi.json`, { method: 'PUT' })],
]

t.test('what is wrong gets its 4xx, and the next request its 201', async (t) => {
  for (const [status, code, about, send] of wrong) {
    const answer = await send()
    const problem = await answer.json()
    t.equal(answer.status, status, `${about}: ${status}`)
    t.equal(answer.headers.get('content-type'), 'application/problem+json', about)
    t.match(problem, { code, status, title: PROBLEMS[/** @type {keyof typeof PROBLEMS} */ (code)].title }, about)
    t.equal((await post(api.url, newUser())).status, 201, `201 after ${about}`)
  }
})

t.test('405 says which methods are allowed', async (t) => {
  t.equal((await fetch(api.url)).headers.get('allow'), 'POST')
  t.equal((await post(`${api.url}/1`, user)).headers.get('allow'), 'GET, HEAD')
})

t.test('the limits themselves are within them', async (t) => {
  const fine = [
    { email: `${'x'.repeat(251)}@b.c`, password: 'x'.repeat(255) },
    { email: 'a@b', password: '😀'.repeat(255) },
    { email: 'ünï@cödé.example', password: "'; DROP TABLE users; --" },
    { ...newUser(), __proto__: null, more: 'ignored' },
  ]
  for (const body of fine) t.equal((await post(api.url, body)).status, 201, JSON.stringify(body).slice(0, 40))
  for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
    t.equal((await post(api.url, newUser(), { 'Content-Type': type })).status, 201, type)
  }
  t.strictSame(await rows(database.url, "SELECT password FROM users WHERE password LIKE '😀%'"), [
    { password: '😀'.repeat(255) },
  ])
})

t.test('HEAD, a query and the absolute form of a target are understood', async (t) => {
  const created = await post(`${api.url}?source=test`, newUser())
  t.equal(created.status, 201)
  const head = await fetch(new URL(created.headers.get('location') ?? '', api.origin), { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  const socket = await connect(api.url)
  socket.end(rawPost(JSON.stringify(newUser())).replace('/user', `${api.origin}/user`))
  await ended(socket)
  t.match(socket.text(), /^HTTP\/1\.1 201/)
})

t.test('/openapi.json describes every path and every error there is', async (t) => {
  const answer = await fetch(`${api.origin}/openapi.json`)
  t.equal(answer.status, 200)
  const { openapi, paths, components } = /** @type {any} */ (await answer.json())
  t.match(openapi, /^3\.1/)
  t.strictSame(Object.keys(paths), ['/user', '/user/{id}', '/openapi.json'])
  t.strictSame(components.schemas.Problem.properties.code.enum, Object.keys(PROBLEMS))
  const { parameters, responses } = paths['/user/{id}'].get
  t.equal(parameters.length, 1)
  t.match(parameters[0].schema, { type: 'integer', format: 'int64', minimum: 1 })
  t.match(responses[200].content['application/json'].schema.properties.id, { type: 'integer', format: 'int64' })
  const documented = JSON.stringify(paths['/user'].post.responses)
  for (const code of [
    'malformed_json',
    'invalid_user',
    'body_too_large',
    'unsupported_media_type',
    'no_database_slot',
  ]) {
    t.match(documented, code)
  }
})

t.test('/metrics tells what the lab asks for', async (t) => {
  const text = await (await fetch(`${api.adminUrl}/metrics`)).text()
  const names = [
    'redline_event_loop_utilization_ratio',
    'redline_event_loop_delay_p99_seconds',
    'redline_pool_total',
    'redline_pool_idle',
    'redline_pool_waiting',
    'redline_statement_seconds_count',
    'redline_in_flight_requests',
    'redline_answers_total',
    'process_open_fds',
    'process_max_fds',
    'process_cpu_seconds_total',
    'redline_config_info',
  ]
  for (const name of names) t.match(text, new RegExp(`^${name}[ {]`, 'm'), name)
  t.equal(await metric(api, 'redline_in_flight_requests'), 0, 'nothing is in flight')
  t.ok((await metric(api, 'redline_statement_seconds_count')) > 0)
  t.notMatch(text, new URL(database.url).password, 'and not how to get into the database')
})

t.test('the admin pages are not on the public port, nor anything else on theirs', async (t) => {
  for (const path of ['/metrics', '/healthz', '/readyz']) t.equal((await fetch(api.origin + path)).status, 404, path)
  t.equal((await fetch(`${api.adminUrl}/healthz`)).status, 200)
  t.equal((await fetch(`${api.adminUrl}/readyz`)).status, 200)
  t.equal((await fetch(`${api.adminUrl}/user`)).status, 404)
})

t.test('a load balancer may ask the admin pages by HEAD', async (t) => {
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const answer = await fetch(api.adminUrl + path, { method: 'HEAD' })
    t.strictSame([answer.status, await answer.text()], [200, ''], path)
    t.ok(Number(answer.headers.get('content-length')) > 0)
  }
  t.equal((await fetch(`${api.adminUrl}/healthz`, { method: 'POST' })).status, 404)
})

t.test('PASSWORD_STORAGE=plain warns at the start, and no line is logged per request', async (t) => {
  const lines = logLines(api)
  t.match(lines[0], { level: 40, msg: /plain/ })
  t.strictSame(
    lines.slice(1).map(({ msg }) => msg),
    ['listening'],
  )
})

t.test('PASSWORD_STORAGE=scrypt stores a hash of the password', async (t) => {
  const other = await startHere(t, database.url, { PASSWORD_STORAGE: 'scrypt' })
  const stored = await storedPassword(other, 'correct horse')
  t.ok(isHashOf('correct horse', stored), stored)
  t.notOk(isHashOf('Correct horse', stored), 'and of no other')
  const again = await storedPassword(other, 'correct horse')
  t.ok(isHashOf('correct horse', again), again)
  t.not(again.split('$')[3], stored.split('$')[3], 'with a salt of its own')
})

/** What is stored as the password of a new user. @param {ApiHere} api @param {string} password @returns {Promise<string>} */
async function storedPassword(api, password) {
  const answer = await post(api.url, { ...newUser(), password })
  const id = answer.headers.get('location')?.slice('/user/'.length)
  return (await rows(database.url, 'SELECT password FROM users WHERE id = $1', [id]))[0].password
}

/** @param {string} password @param {string} stored in the PHC format */
function isHashOf(password, stored) {
  const [, cost, r, p, salt, hash] =
    /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(stored) ?? []
  // The least that OWASP calls as strong as the others: 2^14 with five passes of blocks of eight.
  if (Number(cost) < 14 || Number(r) < 8 || Number(p) < 5) return false
  const options = { N: 2 ** Number(cost), r: Number(r), p: Number(p), maxmem: 64 * 1024 * 1024 }
  const found = scryptSync(password, Buffer.from(salt, 'base64'), Buffer.from(hash, 'base64').length, options)
  return found.equals(Buffer.from(hash, 'base64'))
}

// The last: its table is gone.
t.test('a table that is missing is a 500 without internals', async (t) => {
  await rows(database.url, 'DROP TABLE users')
  const answer = await post(api.url, newUser())
  t.equal(answer.status, 500)
  t.strictSame(Object.keys(/** @type {any} */ (await answer.json())), ['type', 'title', 'status', 'code'])
  await logged(api, /relation .*users.* does not exist/)
})

/** A body without a length, in two pieces. @param {string} text */
function postStream(text) {
  const body = new Blob([text]).stream()
  return fetch(api.url, /** @type {any} */ ({ method: 'POST', headers: JSON_TYPE, body, duplex: 'half' }))
}
