import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { createUserMix } from '../../../../load/generators/mix.js'
import { seekConsent } from '../../../../load/run/consent.js'

const HERE = 'http://127.0.0.1:8080/user?token=hunter2'
const THERE = 'http://192.0.2.1/user'
const load = /** @type {any} */ ({ warmup_s: 1, duration_s: 9 })
const SWEEP = {
  url: HERE,
  shown_url: 'http://127.0.0.1:8080/user?token=(withheld)',
  mix: createUserMix(7),
  rates_rps: [100, 200],
}

/** @param {Parameters<typeof seekConsent>[0]} plan @param {{ isAgreed?: boolean, answer?: boolean | null }} [how] */
async function sought(plan, { isAgreed, answer = null } = {}) {
  /** @type {string[]} */
  const notes = []
  /** @type {string[]} */
  const questions = []
  const ask = async (/** @type {string} */ question) => {
    questions.push(question)
    return answer
  }
  const note = (/** @type {string} */ text) => notes.push(text)
  const error = await seekConsent(plan, () => ({ load, left_s: 20 }), { isAgreed, ask, note }).catch((error) => error)
  return { said: notes.join(), questions, error }
}

t.test('what is sent, how much, and what becomes of it', async (t) => {
  const { said, questions, error } = await sought(SWEEP)
  t.match(
    said,
    'To http://127.0.0.1:8080/user?token=(withheld), Redline will send POST requests, each with a new user as {"email":',
  )
  t.match(said, ': about 3,000 within 20 s. It sends them even if the service cannot keep up, and ')
  t.match(said, 'does not remove what the requests store or change.')
  t.notMatch(said, 'hunter2')
  t.strictSame([questions, error], [[], undefined], 'nobody is asked about this machine')
  const search = await sought({ ...SWEEP, rates_rps: null, searches: true })
  t.match(
    search.said,
    ': at rising rates until the service fails, usually for two to four minutes (longer if it is slow, the machine is noisy, or trials are long); at 10,000/s, that is more than a million requests. It does not remove what the requests store or change.',
  )
  t.notMatch(search.said, '20 s', 'how long a search takes is not known')
  const closed = await sought({ ...SWEEP, rates_rps: null })
  t.match(
    closed.said,
    ': as many as are answered in about 20 s (20,000 at 1,000/s). It loads the service up to its limit, and does not remove',
  )
})

t.test('the content of bodies and queries is not told', async (t) => {
  const own = { method: 'PUT', headers: [], seed: 1 }
  const fixed = { ...own, name: 'body', body_base64: Buffer.from('hunter2').toString('base64') }
  const { said } = await sought({ ...SWEEP, mix: fixed })
  t.match(said, 'Redline will send PUT requests with the same 7 bytes as body: ')
  t.notMatch(said, 'hunter2')
  t.match((await sought({ ...SWEEP, mix: { ...fixed, body_base64: '' } })).said, 'PUT requests without a body: ')
  const entries = [{ name: 'a', method: 'GET', path: '/a?key=hunter2', body: '', weight: 1 }]
  const source = { flag: /** @type {const} */ ('mix'), file: 'mix.json', bytes: 1, modified_at: '' }
  const mix = await sought({ ...SWEEP, mix: { ...fixed, body_base64: null, entries, source } })
  t.match(mix.said, 'the requests of mix.json by weight (1), such as GET /a?key=(withheld)')
})

t.test('a replay is described by its log, whose content is not told', async (t) => {
  const skipped = { lines: 1000, not_understood: 0, first_line: null, methods: 0, paths: 0 }
  const figures = { requests: 1000, span_s: 100, mean_rps: 10, peak_rps: 50, methods: ['GET', 'HEAD'], skipped }
  const own = { name: 'a.log', method: 'GET', headers: [], body_base64: '', seed: 1 }
  const plan = { ...SWEEP, mix: { ...own, replay: { file: 'a.log', ...figures } }, rates_rps: [10, 20] }
  const { said } = await sought(plan)
  // Each speed plays the whole log, after a second of warm-up.
  t.match(said, 'send the 1,000 requests of a.log (GET and HEAD) in their order and rhythm: about 2,030 within 20 s.')
  t.match(
    (await sought({ ...plan, rates_rps: null, searches: true })).said,
    'and rhythm: at rising rates until the service fails, usually for two to four minutes',
  )
})

t.test('another machine is loaded only with consent', async (t) => {
  const plan = { ...SWEEP, url: THERE, shown_url: undefined }
  t.strictSame(await sought(plan, { isAgreed: true }).then(({ questions, error }) => [questions, error]), [
    [],
    undefined,
  ])
  const asked = await sought(plan, { answer: true })
  t.strictSame([asked.error, asked.questions.length], [undefined, 1])
  t.match(asked.questions[0], /^192\.0\.2\.1: not this machine\. Is this load welcome there\?$/)
  for (const answer of [false, null]) {
    const { error, said } = await sought(plan, { answer })
    t.type(error, UsageError)
    t.match(error.message, answer === null ? 'expected --yes, since 192.0.2.1 is not this machine' : 'nothing was sent')
    t.match(said, THERE, 'it has been said what would be sent')
  }
  const sides = { a: { url: HERE }, b: { url: THERE }, c: { url: null } }
  t.match((await sought({ sides, mix: SWEEP.mix })).error.message, '--yes, since 192.0.2.1 is')
})

t.test('with other load hosts, a name needs consent even if it means this machine here', async (t) => {
  const named = { ...SWEEP, url: 'http://localhost:8080/user', shown_url: undefined }
  t.equal((await sought(named)).error, undefined, 'this machine loads itself')
  t.equal((await sought({ ...named, load_hosts: ['ubuntu@127.0.0.1'] })).error, undefined, 'by whatever name')
  const elsewhere = { ...named, load_hosts: ['ubuntu@127.0.0.1', 'ubuntu@192.0.2.7'] }
  t.match(
    (await sought(elsewhere)).error.message,
    'expected --yes, since localhost is possibly not this machine for the load hosts',
  )
  t.equal(
    (await sought({ ...elsewhere, url: 'http://127.0.0.1:8080/' })).error,
    undefined,
    'a number is the same there',
  )
})

t.test('a host name without an address is refused before anything is asked or sent', async (t) => {
  // A name that can have none (RFC 2606).
  const plan = { ...SWEEP, url: 'http://no-such-host.invalid/user', shown_url: undefined }
  for (const isAgreed of [true, false]) {
    const { error, questions } = await sought(plan, { isAgreed, answer: true })
    t.type(error, UsageError)
    t.match(error.message, /^expected a host name that resolves here, got no-such-host\.invalid \(E[A-Z_]+\)$/)
    t.strictSame(questions, [])
  }
  const { error } = await sought({ ...plan, load_hosts: ['ubuntu@192.0.2.7'] }, { answer: true })
  t.equal(error, undefined, 'it may have one where the load comes from')
})

t.test('of our own services nothing is said', async (t) => {
  t.strictSame(await sought({ ...SWEEP, url: null }), { said: '', questions: [], error: undefined })
  t.strictSame(await sought({ sides: { a: { url: null } }, mix: SWEEP.mix }), {
    said: '',
    questions: [],
    error: undefined,
  })
})

t.test('a run with sides names each of them once, and one that loads only its own names none', async (t) => {
  const sides = { a: { url: THERE }, b: { url: 'http://198.51.100.1/user' } }
  const { said, questions } = await sought({ ...SWEEP, url: THERE, sides }, { answer: true })
  t.match(said, /^To http:\/\/192\.0\.2\.1\/user and http:\/\/198\.51\.100\.1\/user, Redline will send/)
  t.strictSame(questions, ['192.0.2.1 and 198.51.100.1: not this machine. Is this load welcome there?'])
  const own = await sought({ ...SWEEP, url: 'http://127.0.0.1/', sides: {} })
  t.strictSame([own.said, own.questions], ['', []])
  const started = await sought({ ...SWEEP, url: THERE, sides: { base: { url: null } } })
  t.strictSame([started.said, started.questions], ['', []], 'the address of a service that is started here')
})
