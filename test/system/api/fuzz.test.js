import fc from 'fast-check'
import t from 'tap'
import { newUser, post, untilMetric } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { seeded } from '../../support/seeded.js'
import { answers, connect, ended, rawPost } from '../../support/socket.js'

/** @import { IAsyncProperty } from 'fast-check' */

const database = await newDatabase(t)
const api = await startHere(t, database.url, { REQUEST_TIMEOUT_MS: '10000', BODY_LIMIT_BYTES: '2000' })

/** @param {IAsyncProperty<any>} property @param {number} numRuns */
const check = (property, numRuns) => fc.assert(property, seeded(numRuns))

/** Any code points but surrogates. fast-check has the same as a string's unit, and builds a map of all of Unicode for it. */
const character = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point))
const text = (maxLength = 10) => fc.array(character, { maxLength }).map((characters) => characters.join(''))

/** @param {Response} answer */
async function isRefusal(answer) {
  const { status } = answer
  const { code } = /** @type {any} */ (await answer.json())
  return [400, 413, 415].includes(status) && typeof code === 'string'
}

t.test('whatever the bytes of a body, the answer is 201 or a 4xx with a code', async () => {
  const bodies = fc.oneof(fc.uint8Array({ maxLength: 3000 }), fc.json(), text())
  const property = fc.asyncProperty(bodies, async (body) => {
    const answer = await post(api.url, body)
    return answer.status === 201 || isRefusal(answer)
  })
  await check(property, 150)
})

t.test('whatever the fields hold, a user is stored as it was sent, or refused', async (t) => {
  const word = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .map((raw) => `x${raw.replace(/[@\s]/g, '')}`)
  const email = fc.oneof(
    fc.tuple(word, word).map((parts) => parts.join('@')),
    text(200),
    fc.jsonValue(),
  )
  const password = fc.oneof(text(200), fc.jsonValue())
  /** @type {Map<string, { email: string, password: string }>} by id */
  const stored = new Map()
  const property = fc.asyncProperty(fc.record({ email, password }, { requiredKeys: [] }), async (user) => {
    const answer = await post(api.url, user)
    if (answer.status !== 201) return isRefusal(answer)
    const id = answer.headers.get('location')?.slice('/user/'.length) ?? ''
    stored.set(id, /** @type {any} */ (user))
    return true
  })
  await check(property, 150)
  t.ok(stored.size > 10, `${stored.size} of 150 were users`)
  const found = await rows(database.url, 'SELECT id::text, email, password FROM users WHERE id = ANY($1)', [
    [...stored.keys()],
  ])
  t.equal(found.length, stored.size)
  for (const { id, email, password } of found) t.strictSame({ email, password }, pick(stored.get(id)))
})

/** @param {any} user */
const pick = ({ email, password }) => ({ email, password })

t.test('whatever the content type, it is taken as JSON or refused', async (t) => {
  const any = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,60}[\x21-\x7e])?$/)
  const json = fc.constantFrom('application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8')
  const type = fc.oneof(any, json)
  const counts = { stored: 0, refused: 0 }
  const property = fc.asyncProperty(type, async (contentType) => {
    const answer = await post(api.url, newUser(), { 'Content-Type': contentType })
    counts[answer.status === 201 ? 'stored' : 'refused']++
    return answer.status === 201 || isRefusal(answer)
  })
  await check(property, 100)
  t.ok(counts.stored > 10 && counts.refused > 10, JSON.stringify(counts))
})

t.test('wherever requests are split, their answers are the same', async () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: 300 }), { maxLength: 12 })
  const property = fc.asyncProperty(cuts, async (places) => {
    const bytes = rawPost(JSON.stringify(newUser())) + rawPost('nonsense') + rawPost(JSON.stringify(newUser()))
    const ends = [...places.sort((a, b) => a - b), bytes.length]
    const socket = await connect(api.url)
    socket.setNoDelay(true)
    for (const [i, end] of ends.entries()) {
      socket.write(bytes.slice(i === 0 ? 0 : ends[i - 1], end))
      await new Promise(setImmediate)
    }
    const statuses = await answers(socket, 3)
    socket.destroy()
    return statuses.join() === '201,400,201'
  })
  await check(property, 50)
})

t.test('whatever comes on a connection, nothing but a 4xx goes back, and the connection ends', async (t) => {
  let refused = 0
  const start = fc.constantFrom(
    '',
    'GET /user/1 HTTP/1.1\r\n',
    'POST /user HTTP/1.1\r\nHost: x\r\n',
    'POST /user HTTP/1.1\r\n',
  )
  const line = fc.stringMatching(/^[\x20-\x7e]{0,40}$/).map((text) => `${text}\r\n`)
  const garbage = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    fc.array(line, { minLength: 1, maxLength: 5 }),
  )
  const property = fc.asyncProperty(start, garbage, async (first, rest) => {
    const socket = await connect(api.url)
    socket.write(first)
    socket.end(Array.isArray(rest) ? `${rest.join('')}\r\n` : rest)
    await ended(socket)
    const statuses = await answers(socket, 0)
    socket.destroy()
    refused += statuses.length
    return statuses.every((status) => status >= 400 && status < 500)
  })
  await check(property, 100)
  t.ok(refused > 10, `${refused} answers`)
})

t.test('after all of that it is as it was', async (t) => {
  t.equal((await post(api.url, newUser())).status, 201)
  await untilMetric(api, 'redline_in_flight_requests', 0)
  const text = await (await fetch(`${api.adminUrl}/metrics`)).text()
  t.match(text, /^redline_answers_total\{status="201"/m)
  t.notMatch(text, /redline_answers_total\{status="5/, 'not one 5xx')
})
