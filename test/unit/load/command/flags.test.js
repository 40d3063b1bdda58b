import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { duration, header, parseCommand, wholeNumbers } from '../../../../load/command/flags.js'
import { PLAN_FLAGS, planOf } from '../../../../load/run/plan.js'
import { caught } from '../../../support/caught.js'

t.test('duration takes a number with its unit and nothing else', async (t) => {
  const rows = [
    ['500ms', 500],
    ['10s', 10_000],
    ['2m', 120_000],
    ['1.5s', 1500],
    ['10', undefined],
    ['10 s', undefined],
    ['0s', undefined],
    ['-1s', undefined],
    ['1h', undefined],
    ['1e3s', undefined],
    ['', undefined],
  ]
  for (const [text, ms] of /** @type {[string, number | undefined][]} */ (rows))
    t.equal(duration(text), ms, `"${text}"`)
})

t.test('wholeNumbers takes a list within its range', async (t) => {
  const { parse } = wholeNumbers(1, 1000)
  t.strictSame(parse('1,1000'), [1, 1000])
  for (const text of ['', '0', '1001', '1,,2', '1.5', 'abc', '1,-2']) t.equal(parse(text), undefined, `"${text}"`)
})

t.test('header takes a field as HTTP has it, and no second line', async (t) => {
  t.strictSame(header('X-Test: a b '), ['X-Test', 'a b'])
  for (const text of ['X Test: a', 'nothing', ': a', 'X: a\r\nY: b'])
    t.equal(header(text), undefined, JSON.stringify(text))
})

t.test('a command line that is wrong is refused in one line that says what was expected', async (t) => {
  const rows = [
    [['--rates', 'abc'], /^--rates: expected whole numbers .*, got "abc"$/],
    [['--rates', '0'], /^--rates: expected/],
    [['--duration', '10'], /^--duration: expected a time above 0 and up to 1440m, such as 500ms, 10s or 2m, got "10"$/],
    [
      ['--driver', 'ab'],
      /^--driver: expected one of paced, workers, autocannon, client, vegeta, wrk, locust, got "ab"$/,
    ],
    [['--url', 'localhost:3000'], /^--url: expected an http/],
    [['--url', 'http://bob:secret@127.0.0.1/'], /^--url: expected an http.* without user and password/],
    [['--url', 'http://127.0.0.1:0/'], /^--url: expected a port from 1 to 65535, got 0$/],
    [['--header', 'Content-Length: 5'], /^--header: expected no framing header, got content-length$/],
    [['--header', 'Host: x'], /^--header: expected no framing header/],
    [['--header', 'X-A: 1', '--header', 'x-a: 2'], /^--header: expected each name once, got x-a twice$/],
    [
      ['--rates', '1', '--duration', '100ms'],
      /^--duration: expected time for one request at each rate, got 0.10 requests$/,
    ],
    [['--header', 'nonsense'], /^--header: expected Name: value/],
    [['--ratse', '1'], /--ratse/],
    [['--rates'], /^--rates: expected A,B,C, got nothing or another flag/],
    [['--unbounded=yes'], /^--unbounded: expected no value, got one$/],
    [
      ['stray'],
      /^expected only flags, got "stray" \(flags follow --, as in npm run VERB -- --flag; quote values that contain/,
    ],
    [
      ['--header', 'Authorization:', 'Bearer', 'secret'],
      /^expected only flags, got one argument too many \(flags follow --/,
    ],
    [
      ['--rates', '-1'],
      /^--rates: expected A,B,C, got nothing or another flag \(a value that begins with - is written --rates=-…\)$/,
    ],
    [['--driver', 'autocannon', '--rates', '100'], /^--rates: expected an open-loop driver/],
    [['--connections', '1,2'], /^--connections: expected one number for the open-loop driver paced, got 1,2$/],
    [['--rates', '1000000', '--duration', '60m'], /^--duration: expected at most/],
    [['--rates', '500', '--slo-p99', '1s', '--rates=1000'], /^--rates: expected one list \(A,B,C\), got several$/],
    [['--mix', ''], /^--mix: expected FILE, got an empty string \(is a variable unset\?\)$/],
    [['--start=', '--url', 'http://127.0.0.1/'], /^--start: expected COMMAND, got an empty string/],
    [['--without', 'a', '--without', ''], /^--without: expected NAME, got an empty string/],
    [['--body', '/no/such/file'], /^--body: expected a file that can be read/],
    [['--body', '@/no/such/file'], /^--body: expected a file that can be read/],
    [['--method', 'FETCH'], /^--method: expected a method of HTTP in capitals, such as GET or POST, got "FETCH"$/],
    [['--method', 'get'], /^--method: expected a method of HTTP/],
    [['--method', 'CONNECT'], /^--method: expected a method of HTTP/],
  ]
  for (const [argv, message] of /** @type {[string[], RegExp][]} */ (rows)) {
    const error = caught(() => planOf(parseCommand(PLAN_FLAGS, argv).given))
    t.type(error, UsageError, argv.join(' '))
    t.match(error.message, message)
    t.notMatch(error.message, '\n')
  }
})

t.test('of a flag with one value, the last one counts', async (t) => {
  const { given } = parseCommand(PLAN_FLAGS, ['--unbounded', '--duration', '1s', '--unbounded', '--duration', '2s'])
  t.match(given, { unbounded: true, duration: 2000 })
})

t.test('an unknown flag is refused with the one that was probably meant, if any is similar', async (t) => {
  const rows = [
    ['--ratse', 'rates'],
    ['--rate', 'rates'],
    ['--conections', 'connections'],
    ['--warm-up', 'warmup'],
    ['--sloP99', 'slo-p99'],
    ['--p99', 'slo-p99'],
    ['--josn', 'json'],
    ['--sede=1', 'seed'],
    ['--nonsense', null],
    ['--xy', null],
    ['-q', null],
  ]
  const flags = { ...PLAN_FLAGS, json: { value: '', about: '' } }
  for (const [flag, likely] of /** @type {[string, string | null][]} */ (rows)) {
    const error = caught(() => parseCommand(flags, [flag]).given)
    t.type(error, UsageError, flag)
    const [name] = flag.split('=')
    const hint = likely ? `did you mean --${likely}? ` : ''
    t.equal(error.message, `expected a flag of this verb, got ${name}; ${hint}--help lists the flags`)
  }
})

t.test('a plan says what is sent', async (t) => {
  const plan = (/** @type {string[]} */ ...argv) => planOf(parseCommand(PLAN_FLAGS, argv).given)
  t.match(plan(), { driver: 'paced', rates_rps: null, slo: { p99_ms: 100 }, mix: { name: 'create-user' } })
  t.strictSame(plan().connections, [])
  t.ok(Number(plan().connections_max) > 0, 'as many as a trial needs, if there is room')
  t.strictSame(plan('--driver', 'wrk').connections, [256])
  const pinned = plan('--connections', '7')
  t.strictSame([pinned.connections, pinned.connections_max], [[7], undefined])
  t.match(plan('--method', 'GET').mix, { name: 'get', body_base64: '' }, 'a GET has no body')
  t.strictSame(plan('--method', 'GET').mix.headers, [])
  const bodyOf = (/** @type {string} */ text) =>
    Buffer.from(String(plan('--body', text).mix.body_base64), 'base64').toString()
  for (const text of ['{"a":1}', '[1]', '<a/>', 'a=1&b=2', '"é"']) t.equal(bodyOf(text), text, 'a body as it is')
  const folder = t.testdir({ body: 'a=1' })
  for (const text of [`${folder}/body`, `@${folder}/body`]) t.equal(bodyOf(text), 'a=1', 'a body from a file')
  t.match(plan('--seed', '7').mix, { seed: 7 })
  t.strictSame(plan('--header', 'content-type: text/plain', '--header', 'A: 1').mix.headers, [
    ['content-type', 'text/plain'],
    ['A', '1'],
  ])
})

t.test('a trial lasts three times the longest bound on a p99, also of an entry', async (t) => {
  const entry = { name: 'report', method: 'GET', path: '/report', weight: 1, slo: 'p99<3s' }
  const { mix } = { mix: `${t.testdir({ 'mix.json': JSON.stringify([entry]) })}/mix.json` }
  const durationOf = (/** @type {string[]} */ ...argv) =>
    planOf(parseCommand(PLAN_FLAGS, ['--url', 'http://127.0.0.1:1/', ...argv]).given).duration_s
  t.equal(durationOf(), 2, 'of a search')
  t.equal(durationOf('--slo-p99', '1s'), 3)
  t.equal(durationOf('--mix', mix), 9)
  t.equal(durationOf('--mix', mix, '--slo-p99', '5s'), 15)
  t.equal(durationOf('--mix', mix, '--rates', '100'), 10, 'of a ladder')
  t.equal(durationOf('--mix', mix, '--duration', '4s'), 4, 'as asked')
})

t.test('a flag that would be ignored is refused', async (t) => {
  const url = ['--url', 'http://127.0.0.1:1/']
  const rows = /** @type {[string[], RegExp][]} */ ([
    [
      ['--driver', 'vegeta', '--unbounded', '--connections', '9'],
      /^--unbounded: cannot be combined with --connections, which bounds vegeta$/,
    ],
    [
      [...url, '--dose', '5'],
      /^--dose: with --url requires --start or --pid, since the proof slows processes it knows$/,
    ],
    [['--no-confirm', '--rates', '9'], /^--no-confirm: expected an open-loop search for the capacity, without --rates/],
    [['--no-proof', '--rates', '9'], /^--no-proof: expected an open-loop search for the capacity, without --rates/],
    [['--no-proof', '--driver', 'wrk'], /^--no-proof: expected an open-loop search for the capacity, without --rates/],
    [['--no-confirm', '--driver', 'client'], /^--no-confirm: expected an open-loop search/],
  ])
  const plan = (/** @type {string[]} */ argv) => planOf(parseCommand(PLAN_FLAGS, argv).given)
  for (const [argv, message] of rows) t.match(caught(() => plan(argv)).message, message, argv.join(' '))
  const fine = [['--driver', 'vegeta', '--unbounded'], [...url, '--start', 'node x', '--dose', '5'], ['--no-proof']]
  for (const argv of fine) t.doesNotThrow(() => plan(argv), argv.join(' '))
})

t.test('no https service is loaded where its certificate would not be verified', async (t) => {
  const was = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  t.teardown(() => {
    if (was === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = was
  })
  const read = (/** @type {string} */ url) => parseCommand(PLAN_FLAGS, ['--url', url]).given.url
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.type(
    caught(() => read('https://a.test/')),
    UsageError,
  )
  t.match(caught(() => read('HTTPS://a.test/')).message, /^--url: expected NODE_TLS_REJECT_UNAUTHORIZED unset/)
  t.equal(read('http://a.test/'), 'http://a.test/')
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  t.equal(read('https://a.test/'), 'https://a.test/')
})
