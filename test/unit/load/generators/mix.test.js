import fs from 'node:fs'
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
  t.equal(all.length, 100)
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
  const taking = { ...entry, take: { id: '/id' } }
  const rows = /** @type {[any, RegExp][]} */ ([
    ['{"name":', /^--mix: expected JSON in .*mix\.json, got something else/],
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
    ...['{"id":"/id"}', ['/id'], { id: 7 }, { id: 'id' }, { 'a b': '/id' }, { id: '/a~2' }].map((take) => [
      [{ ...entry, take }],
      /^--mix: expected (an object such as|texts in|a name and a JSON Pointer, such as) .* of entry 1 \(a\), got /,
    ]),
    ...[{ 'a b': 'c' }, { Host: 'b' }, { a: 'b\r\nc: d' }, ['a: b'], { a: null }].map((own) => [
      [{ ...entry, headers: own }],
      /^--mix: expected .* of entry 1 \(a\), got |^--mix: expected a header in entry 1 \(a\), got "/,
    ]),
    [
      [{ ...entry, headers: { 'X-A': '1', 'x-a': '2' } }],
      /^--mix: expected each header of entry 1 \(a\) once, in whatever case, got "x-a"$/,
    ],
    [[{ ...entry, path: '/{{taken id}}' }], /^--mix: expected one entry to take "id", got none$/],
    [[taking, { ...taking, name: 'b' }], /^--mix: expected one entry to take "id", got a and b$/],
    [
      [
        { ...taking, path: '/{{taken token}}' },
        { name: 'b', path: '/{{taken id}}', take: { token: '/t' } },
      ],
      /^--mix: expected entries that do not wait for each other, got a cycle of a, b$/,
    ],
    [[{ ...taking, path: '/{{taken id}}' }], /got a cycle of a$/],
    [[{ ...entry, body: '{{data name}}' }], /^--mix: expected --data FILE for \{\{data name\}\}, got none$/],
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

const login = {
  name: 'login',
  method: 'POST',
  path: '/login',
  body: '{}',
  weight: 1,
  take: { token: '/auth/token', id: '/id' },
}
const order = {
  ...{ name: 'order', method: 'GET', path: '/orders/{{taken id}}', body: '', weight: 9 },
  headers: { Authorization: 'Bearer {{taken token}}', Accept: 'text/plain' },
}

t.test(
  'a value from a response is put into later requests; until there is one, the entry that takes it is sent',
  async (t) => {
    const mix = createMix({ ...plan, headers: [['accept', '*/*']], entries: [login, order] }, 1)
    for (let i = 0; i < 50; i++) t.equal(mix(i).name, 'login')
    t.notOk(mix(50).take?.('{"auth":{"token":"a/b \\"ä"}}'), 'one of two is missing')
    t.equal(mix(51).name, 'login')
    t.ok(mix(51).take?.('{"auth":{"token":"t"},"id":7.5}'))
    const orders = Array.from({ length: 100 }, (_, i) => mix(i)).filter(({ name }) => name === 'order')
    t.ok(orders.length > 70, 'by its weight')
    t.equal(orders[0].path, '/orders/7.5')
    t.equal(orders[0].take, undefined)
    const tokens = new Set(orders.map(({ headers: of }) => of.find(([name]) => name === 'Authorization')?.[1]))
    t.strictSame([...tokens].sort(), ['Bearer a/b "Ã¤', 'Bearer t'], 'both that were taken, as UTF-8')
    t.strictSame(
      orders[0].headers.filter(([name]) => /accept/i.test(name)),
      [['Accept', 'text/plain']],
      'its own, once',
    )
  },
)

t.test('what is taken fits its place, or is not taken', async (t) => {
  const of = { ...order, headers: {}, path: '/{{taken id}}', body: '["{{taken id}}"]' }
  const takes = (/** @type {unknown} */ id) => {
    const mix = createMix({ ...plan, entries: [{ ...login, take: { id: '/list/1/a~1b~0' }, weight: 1e-9 }, of] }, 1)
    const isTaken = mix(0).take?.(JSON.stringify({ list: [{}, { 'a/b~': id }] }))
    return isTaken ? [mix(1).path, mix(1).body] : null
  }
  t.strictSame(takes('a?b/"ü'), ['/a%3Fb%2F%22%C3%BC', '["a?b/\\"Ã¼"]'])
  t.strictSame(takes(0), ['/0', '["0"]'])
  for (const value of ['', 'a\r\nb', '\ud800', 'x'.repeat(4097), true, null, {}, [1], undefined])
    t.equal(takes(value), null)
  // Neither what JavaScript adds to a value nor an element by another name (RFC 6901).
  for (const pointer of ['/items/length', '/items/constructor/name', '/items/01', '/name/0', '/name/length']) {
    const { take } = createMix({ ...plan, entries: [{ ...login, take: { id: pointer } }, of] }, 1)(0)
    t.equal(take?.('{"items":["a","b"],"name":"ada"}'), false, pointer)
  }
  const take = createMix({ ...plan, entries: [login] }, 1)(0).take
  for (const body of ['', 'no JSON', '[]', 'null', '{"auth":null}', '{"__proto__":1}'])
    t.equal(take?.(body), false, body)
})

t.test('the latest thousand values are kept', async (t) => {
  const mix = createMix(
    {
      ...plan,
      entries: [
        { ...login, take: { id: '/id' }, weight: 1e-9 },
        { ...order, headers: {} },
      ],
    },
    1,
  )
  const { take } = mix(0)
  for (let id = 0; id < 5000; id++) take?.(JSON.stringify({ id }))
  const ids = Array.from({ length: 20_000 }, (_, i) => Number(mix(i).path?.split('/').at(-1)))
  t.equal(Math.min(...ids), 4000)
  t.equal(Math.max(...ids), 4999)
})

t.test('--data fills the rows of a file in turn, whatever their format', async (t) => {
  const mixFile = fileWith(
    t,
    JSON.stringify([{ name: 'a', path: '/{{data name}}', body: { n: '{{data name}}, {{data age}}' } }]),
  )
  const formats = {
    'rows.csv': '\ufeffname,other,age\n"Ann ""A"", B",x,7\n\nBob,y,8\n',
    'rows.ndjson': '{"name":"Ann \\"A\\", B","age":7}\n\n{"age":8,"name":"Bob"}\n',
  }
  for (const [name, text] of Object.entries(formats)) {
    const file = path.join(path.dirname(mixFile), name)
    fs.writeFileSync(file, text)
    const mix = mixOf({ mix: mixFile, data: file, seed: 1 })
    t.strictSame(mix.data, { name: ['Ann "A", B', 'Bob'], age: ['7', '8'] }, 'columns that are named, and no others')
    const [first, second, third] = requests(mix, 1, 3)
    t.equal(first.path, '/Ann%20%22A%22%2C%20B')
    t.strictSame(
      [first, second, third].map(({ body }) => JSON.parse(String(body)).n),
      ['Ann "A", B, 7', 'Bob, 8', 'Ann "A", B, 7'],
    )
  }
})

t.test('data that do not fit are refused, without being quoted', async (t) => {
  const mixFile = fileWith(t, JSON.stringify([{ name: 'a', path: '/{{data name}}' }]))
  const rows = /** @type {[string, RegExp][]} */ ([
    ['', /^--data: expected 1 to 100000 rows, got 0$/],
    ['name\n', /got 0$/],
    ['name\n'.repeat(100_002), /got 100001$/],
    ['age\nsecret\n', /^--data: expected a text of one line or a number as name of row 1, got something else$/],
    ['name,age\na,1\nb,2,secret\n', /^--data: expected CSV with a header, got in row 2: Too many fields/],
    ['name\n"secret\n', /^--data: expected CSV with a header, got in row 1: Quoted field unterminated$/],
    ['{"name":"a"}\n{"name":secret}\n', /^--data: expected a JSON object in line 2, got something else$/],
    ['{"name":"a"}\n{"name":{"secret":1}}\n', /as name of row 2, got something else$/],
    ['{"name":"sec\\nret"}\n', /as name of row 1, got something else$/],
    ['{"name":"a"}\n7\n', /as name of row 2, got something else$/],
    ['x'.repeat((16 << 20) + 1), /^--data: expected a file of at most 16777216 bytes, got 16777217$/],
  ])
  for (const [text, message] of rows) {
    const file = path.join(path.dirname(mixFile), 'data')
    fs.writeFileSync(file, text)
    const error = caught(() => mixOf({ mix: mixFile, data: file }))
    t.type(error, UsageError)
    t.match(error.message, message)
    t.notMatch(error.message, /secret|\n/)
  }
  t.match(
    caught(() => mixOf({ mix: mixFile, data: '/no/such' })).message,
    /^--data: expected a file that can be read, got ENOENT/,
  )
  t.match(caught(() => mixOf({ data: '/no/such' })).message, /^--data: requires --mix$/)
})

t.test('--header @FILE has a header in each line', async (t) => {
  const headersOf = (/** @type {string} */ text) => {
    const file = path.join(t.testdir({ headers: text }), 'headers')
    return mixOf(parseCommand({ ...MIX_FLAGS }, ['--header', `@${file}`, '--header', 'C: 3']).given).headers.slice(1)
  }
  for (const text of ['A: 1\r\n\nB:  two words\n', '\ufeffA: 1\nB: two words']) {
    t.strictSame(headersOf(text), [
      ['A', '1'],
      ['B', 'two words'],
      ['C', '3'],
    ])
  }
  const refused = [
    ['A: 1\nsecret', /^--header: expected Name: value, or @FILE with such lines/],
    ['C: 4', /got c twice/],
  ]
  for (const [text, message] of /** @type {[string, RegExp][]} */ (refused)) {
    const error = caught(() => headersOf(text))
    t.match(error.message, message)
    t.notMatch(error.message, 'secret')
  }
  t.match(
    caught(() => parseCommand({ ...MIX_FLAGS }, ['--header', '@/no/such'])).message,
    /^--header: expected a file that can be read/,
  )
})

t.test('a file without an end is refused at the limit of its flag', async (t) => {
  const rows = /** @type {[string, string, number][]} */ ([
    ['--body', '@/dev/zero', 10 << 20],
    ['--header', '@/dev/zero', 64 << 10],
    ['--mix', '/dev/zero', 1 << 20],
  ])
  for (const [flag, text, bytes] of rows) {
    const error = caught(() => mixOf(parseCommand({ ...MIX_FLAGS }, [flag, text]).given))
    t.equal(error.message, `${flag}: expected a file of at most ${bytes} bytes, got more from /dev/zero`)
  }
  const mix = path.join(t.testdir({ mix: JSON.stringify([{ name: 'a', path: '/{{data id}}' }]) }), 'mix')
  const { message } = caught(() => mixOf({ mix, data: '/dev/zero' }))
  t.equal(message, '--data: expected a file of at most 16777216 bytes, got more from /dev/zero')
})

t.test('a body file as large as the limit is sent, a larger one refused', async (t) => {
  const folder = t.testdir({ fits: 'x'.repeat(10 << 20), large: 'x'.repeat((10 << 20) + 1) })
  t.equal(Buffer.from(String(mixOf({ body: `@${folder}/fits` }).body_base64), 'base64').length, 10 << 20)
  t.equal(
    caught(() => mixOf({ body: `@${folder}/large` })).message,
    '--body: expected a file of at most 10485760 bytes, got 10485761',
  )
})

t.test('a mix may begin with a byte order mark; what is no JSON is named', async (t) => {
  const entry = { name: 'a', path: '/' }
  const folder = t.testdir({ bom: `\ufeff${JSON.stringify([entry])}`, other: '[secret' })
  const { entries = [] } = mixOf({ mix: `${folder}/bom` })
  t.equal(entries.length, 1)
  t.match(entries[0], entry)
  t.equal(
    caught(() => mixOf({ mix: `${folder}/other` })).message,
    `--mix: expected JSON in ${folder}/other, got something else`,
  )
})

t.test('a blank that is not closed is refused', async (t) => {
  const rows = [
    ['{"email":"{{seq"}', '{{seq'],
    ['{{word}} {{int 1 2', '{{int 1 2'],
  ]
  for (const [body, found] of rows) {
    const mix = path.join(t.testdir({ mix: JSON.stringify([{ name: 'a', path: '/', body }]) }), 'mix')
    t.match(caught(() => mixOf({ mix })).message, `in entry 1 (a), got ${found} without }}`, body)
  }
})
