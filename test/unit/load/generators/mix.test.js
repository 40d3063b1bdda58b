import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { parseCommand } from '../../../../load/command/flags.js'
import { createMix } from '../../../../load/generators/mix.js'
import { MIX_FLAGS, mixOf } from '../../../../load/generators/mix-flags.js'
import { caught } from '../../../support/caught.js'

const plan = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 42 }
const bodies = (/** @type {any} */ mix, /** @type {number} */ n) => Array.from({ length: n }, (_, i) => mix(i).body)

t.test('the same seed and trial send the same bytes', async (t) => {
  t.strictSame(bodies(createMix(plan, 1), 100), bodies(createMix(plan, 1), 100))
})

t.test('no email is sent twice, in a trial, in a run, or with another seed', async (t) => {
  const mixes = [createMix(plan, 1), createMix(plan, 2), createMix({ ...plan, seed: 43 }, 1)]
  const emails = mixes.flatMap((mix) => bodies(mix, 1000)).map((body) => JSON.parse(body).email)
  t.equal(new Set(emails).size, 3000)
})

t.test('a body that is given is sent as it is, each time', async (t) => {
  const mix = createMix({ ...plan, body_base64: Buffer.from([0, 255, 10]).toString('base64') }, 1)
  t.strictSame(mix(0).body, Buffer.from([0, 255, 10]))
  t.strictSame(mix(9).body, Buffer.from([0, 255, 10]))
})

const entries = [
  { name: 'create', method: 'POST', path: '/user', body: '{"email":"{{word}}-{{seq}}@redline.test"}', weight: 3 },
  { name: 'read', method: 'GET', path: '/user/{{int 1 10}}', body: '', weight: 6 },
  { name: 'rare', method: 'PUT', path: '/user/{{ int -2 2 }}', body: 'Grüße {{seq}}', weight: 1 },
]
const headers = /** @type {[string, string][]} */ ([
  ['Content-Type', 'application/json'],
  ['A', '1'],
])
const weighted = { ...plan, headers, entries }
const requests = (/** @type {any} */ of, trial = 1, n = 2000) => {
  const mix = createMix(of, trial)
  return Array.from({ length: n }, (_, i) => mix(i))
}

t.test('one kind of request has the path of the target, and the bytes it had', async (t) => {
  const mix = createMix(plan, 3)
  const body = '{"email":"user-16-3-7@redline.test","password":"secret-7"}'
  t.equal(mix(7).body, body)
  t.strictSame(mix(7), { name: 'create-user', method: 'POST', path: null, headers: [], body })
})

t.test(
  'a weighted mix: request i is the same for the same seed and trial, in any order, and another otherwise',
  async (t) => {
    const first = requests(weighted)
    t.strictSame(requests(weighted), first)
    t.strictSame(createMix(weighted, 1)(1234), first[1234])
    for (const other of [requests(weighted, 2), requests({ ...weighted, seed: 43 })]) {
      const same = other.filter(({ name }, i) => name === first[i].name).length
      t.ok(same > 700 && same < 1150, `${same} of 2000 entries are the same, 920 are by chance`)
      t.notMatch(other[0], first[0])
    }
  },
)

t.test('a weighted mix: entries come by their weights, whatever the seed', async (t) => {
  for (const seed of [0, 1, 42, 2 ** 32 - 1]) {
    const all = requests({ ...weighted, seed }, 1, 20_000)
    for (const { name, weight } of entries) {
      const share = weight / 10
      const count = all.filter((one) => one.name === name).length
      const sigmas = (count - 20_000 * share) / Math.sqrt(20_000 * share * (1 - share))
      t.ok(Math.abs(sigmas) < 4.5, `seed ${seed}, ${name}: ${count} are ${sigmas.toFixed(1)} sigma off`)
    }
    const pairs = all.filter(({ name }, i) => name === 'rare' && all[i - 1]?.name === 'rare').length
    t.ok(Math.abs(pairs - 200) < 70, `seed ${seed}: ${pairs} follow their like, 200 by chance`)
  }
})

t.test('a weighted mix: blanks are filled, seq with a number that no other request of the run has', async (t) => {
  const all = [...requests(weighted, 1), ...requests(weighted, 2)]
  const of = (/** @type {string} */ name) => all.filter((one) => one.name === name)
  const emails = of('create').map(({ body }) => JSON.parse(String(body)).email)
  for (const email of emails) if (!/^[a-z]{6}-\d+@redline\.test$/.test(email)) t.fail(email)
  t.equal(new Set(emails.map((email) => email.split('-')[1])).size, emails.length, 'no seq twice')
  t.ok(new Set(emails.map((email) => email.split('-')[0])).size > 0.99 * emails.length, 'words differ')
  const paths = new Set(of('read').map(({ path }) => path))
  t.strictSame([...paths].sort(), Array.from({ length: 10 }, (_, i) => `/user/${i + 1}`).sort(), 'ends included')
  t.strictSame(
    [...new Set(of('rare').map(({ path }) => path))].sort(),
    [-1, -2, 0, 1, 2].map((i) => `/user/${i}`),
  )
  t.match(Buffer.from(String(of('rare')[0].body), 'latin1').toString(), /^Grüße \d+$/, 'a body is UTF-8')
  t.strictSame(of('read')[0].headers, [['A', '1']], 'no type without a body')
  t.strictSame(of('create')[0].headers, weighted.headers)
})

t.test('a single entry is sent throughout', async (t) => {
  const all = requests({ ...weighted, entries: entries.slice(2) }, 1, 100)
  t.ok(all.every(({ name }) => name === 'rare'))
})

/** @param {any} t @param {string} text */
function fileWith(t, text) {
  const file = path.join(t.testdir({ 'mix.json': text }), 'mix.json')
  return file
}

t.test('--mix reads entries from a file, with what is usual where nothing is said', async (t) => {
  const given = [
    { name: 'create', path: '/user', body: { email: '{{seq}}@a.test' }, weight: 2.5 },
    { name: 'home page', path: '/', slo: 'p99 < 20ms, success>=99%' },
  ]
  const file = fileWith(t, JSON.stringify(given))
  const mix = mixOf(parseCommand({ ...MIX_FLAGS }, ['--mix', file, '--header', 'A: 1']).given)
  t.match(mix, { name: file, method: 'POST', body_base64: null })
  t.strictSame(mix.headers, [
    ['Content-Type', 'application/json'],
    ['A', '1'],
  ])
  t.strictSame(mix.entries, [
    { name: 'create', method: 'POST', path: '/user', body: '{"email":"{{seq}}@a.test"}', weight: 2.5 },
    { name: 'home page', method: 'GET', path: '/', body: '', weight: 1, slo: { p99_ms: 20, success_ratio: 0.99 } },
  ])
  t.strictSame(
    mixOf({ mix: file, without: ['create'] }).entries?.map(({ name }) => name),
    ['home page'],
  )
})

t.test('a mix that is wrong is refused in one line that says what was expected and what came', async (t) => {
  const entry = { name: 'a', path: '/' }
  const rows = /** @type {[any, RegExp][]} */ ([
    ['{"name":', /^--mix: expected JSON, got /],
    [{ entries: [entry] }, /^--mix: expected a list such as .*, got an object$/],
    [null, /got null$/],
    [[], /^--mix: expected at least one entry, got none$/],
    [[entry, 7], /^--mix: expected an object as entry 2, got a number$/],
    [[{ path: '/' }], /^--mix: expected a name .* in entry 1, got nothing$/],
    [[{ ...entry, name: '__proto__' }], /expected a name/],
    [[entry, entry], /^--mix: expected each name once, got a twice$/],
    [[{ ...entry, wieght: 1 }], /^--mix: expected no keys in entry 1 but name, .*, got "wieght"$/],
    ...[-1, 0, '1', null, 1e10].map((weight) => [
      [{ ...entry, weight }],
      /^--mix: expected a weight above 0, at most 1000000000, in entry 1 \(a\), got /,
    ]),
    [[{ ...entry, method: 'get' }], /^--mix: expected a method of HTTP in capitals/],
    [[{ ...entry, path: 'user' }], /^--mix: expected a path that begins with \/ .*, got "user"$/],
    [[{ ...entry, path: '/a b' }], /expected a path/],
    [[{ ...entry, path: '/a\r\nX: b' }], /expected a path/],
    [[{ name: 'a' }], /expected a path .*, got nothing$/],
    [
      [{ ...entry, body: 7 }],
      /^--mix: expected a text, an object or a list as the body of entry 1 \(a\), got a number$/,
    ],
    [
      [{ ...entry, slo: 'p99<5' }],
      /^--mix: expected conditions such as .* at most once as the slo of entry 1 \(a\), got "p99<5"$/,
    ],
    [[{ ...entry, slo: 5 }], /^--mix: expected conditions .* as the slo of entry 1 \(a\), got 5$/],
    [[{ ...entry, path: '/{{uuid}}' }], /^--mix: expected \{\{seq\}\}, .* in entry 1 \(a\), got \{\{uuid\}\}$/],
    [[{ ...entry, body: '{{int 5 1}}' }], /got \{\{int 5 1\}\}$/],
    [
      Array.from({ length: 1001 }, (_, i) => ({ ...entry, name: `n${i}` })),
      /^--mix: expected at most 1000 entries, got 1001$/,
    ],
    [[{ ...entry, body: 'x'.repeat(1 << 20) }], /^--mix: expected a file of at most 1048576 bytes, got 1048\d{3}$/],
  ])
  for (const [given, message] of rows) {
    const file = fileWith(t, typeof given === 'string' ? given : JSON.stringify(given))
    const error = caught(() => mixOf({ mix: file }))
    t.type(error, UsageError)
    t.match(error.message, message)
    t.notMatch(error.message, '\n')
  }
  t.match(caught(() => mixOf({ mix: '/no/such/file' })).message, /^--mix: expected a file that can be read, got ENOENT/)
  const file = fileWith(t, JSON.stringify([entry]))
  t.match(caught(() => mixOf({ mix: file, without: ['b'] })).message, /^--without: expected one of a, got "b"$/)
  t.match(caught(() => mixOf({ mix: file, without: ['a'] })).message, /^--without: expected at least one entry/)
  t.match(caught(() => mixOf({ without: ['a'] })).message, /^--without: requires --mix/)
  t.match(caught(() => mixOf({ mix: file, method: 'GET' })).message, /^--method: cannot be combined with --mix/)
})
