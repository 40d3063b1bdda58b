import t from 'tap'
import { sideOfCode, sideOfEnd, sideOfText } from '../../../../../load/generators/drivers/errors.js'

t.test('errors of Node sockets belong to a side by their code', async (t) => {
  const rows = [
    ['EADDRNOTAVAIL', 'client:ports', 'no local port is left'],
    ['EADDRINUSE', 'client:ports', 'nor to bind one'],
    ['EMFILE', 'client:nofile', 'the generator is out of descriptors'],
    ['ECONNREFUSED', 'server:refused', 'nobody listens'],
    ['ECONNRESET', 'server:reset', 'the server reset the connection'],
    ['EPIPE', 'server:reset', 'we wrote to a connection that it had closed'],
    ['CERT_HAS_EXPIRED', 'server:tls', 'a certificate does not hold'],
    ['EHOSTUNREACH', 'network:unreachable', 'no way there'],
    ['HPE_INVALID_CHUNK_SIZE', 'server:protocol', 'Node’s parser could not read the response'],
    ['EWHATEVER', 'unknown:EWHATEVER', 'what no row knows is nobody’s fault'],
  ]
  for (const [code, side, about] of rows) t.equal(sideOfCode({ code }), side, about)
})

t.test('if every address of a name fails, an error of ours decides, else the last address', async (t) => {
  const sideOf = (/** @type {string[]} */ ...codes) => {
    const errors = codes.map((code) => Object.assign(new Error(code), { code }))
    return sideOfCode(Object.assign(new AggregateError(errors), { code: codes[0] }))
  }
  t.equal(sideOf('ECONNREFUSED', 'EADDRNOTAVAIL'), 'client:ports')
  t.equal(sideOf('EADDRNOTAVAIL', 'ECONNREFUSED'), 'client:ports')
  t.equal(sideOf('ETIMEDOUT', 'ECONNREFUSED'), 'server:refused')
  t.equal(sideOfCode(new Error('nothing else is known')), 'unknown:nothing else is known')
})

t.test("vegeta's errors belong to a side by their text", async (t) => {
  const dial = 'Post "http://127.0.0.1:3000/user": dial tcp 0.0.0.0:0->127.0.0.1:3000: '
  const rows = [
    [`${dial}bind: address already in use`, 'client:ports', 'the published "code 0" is the client out of ports'],
    [`${dial}connect: cannot assign requested address`, 'client:ports', 'and so is this'],
    [`${dial}socket: too many open files`, 'client:nofile', 'the generator is out of descriptors'],
    [`${dial}connect: connection refused`, 'server:refused', 'nobody listens'],
    ['Post "…": read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer', 'server:reset', 'reset'],
    ['Post "…": http: server closed idle connection', 'server:closed-idle', 'keep-alive race'],
    ['Post "…": EOF', 'server:closed', 'closed without an answer'],
    [
      'Post "…": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
      'client:timeout',
      'timeout',
    ],
    ['Post "…": net/http: HTTP/1.x transport connection broken: bad Content-Length "abc"', 'server:protocol', 'length'],
    ['Post "…": net/http: HTTP/1.x transport connection broken: unexpected EOF', 'server:closed', 'cut'],
    ['malformed MIME header: missing colon: "x"', 'server:protocol', 'trailer'],
    ['invalid byte in chunk length', 'server:protocol', 'chunk size'],
    ['empty hex number for chunk length', 'server:protocol', 'chunk size'],
    ['http chunk length too large', 'server:protocol', 'chunk size'],
    ['malformed chunked encoding', 'server:protocol', 'chunk'],
    ['Post "…": net/http: too many 1xx informational responses', 'server:protocol', 'interim responses'],
    ['header line too long', 'server:protocol', 'a chunk size without an end'],
    ['http: suspiciously long trailer after chunked body', 'server:protocol', 'an endless trailer'],
    ['Post "…": x509: certificate signed by unknown authority', 'server:tls', 'certificate'],
    ['something new', 'unknown:something new', 'unknown'],
    ['Get "http://h/EOF?key=s": something new', 'unknown:something new', 'a URL is no reason, and may hold a secret'],
    ['"Post ""https://h/a?key=s"": odd"', 'unknown:odd"', 'nor is it as CSV'],
  ]
  for (const [text, side, about] of rows) t.equal(sideOfText(text), side, about)
})

t.test('an end without an error is a keep-alive race only on a connection that had served before', async (t) => {
  const ended = { reused: true, answerBegan: false, waited_ms: 300 }
  t.equal(sideOfEnd(ended), 'server:closed-idle')
  t.equal(sideOfEnd({ ...ended, reused: false }), 'server:closed')
  t.equal(sideOfEnd({ ...ended, answerBegan: true }), 'server:closed')
  t.equal(sideOfEnd({ ...ended, waited_ms: 5000 }), 'server:closed', 'the server had read the request, and gave it up')
})
