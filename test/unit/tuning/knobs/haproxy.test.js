import t from 'tap'
import { HAPROXY } from '../../../../tuning/experiments/balance/steps.js'
import { haproxyConfig } from '../../../../tuning/knobs/haproxy.js'

const SERVERS = [
  { name: 'one', port: 4001 },
  { name: 'two', port: 4002 },
]

/** The lines of the last section. @param {Parameters<typeof haproxyConfig>[0]} options */
function backendOf(options) {
  const [, backend] = haproxyConfig(options).split('\nbackend endpoints\n')
  return backend
    .trim()
    .split('\n')
    .map((line) => line.trim())
}

t.test('HAProxy has every endpoint as a server, and watches and retries only as asked', async (t) => {
  const plain = { ...HAPROXY['haproxy-random'], port: 4000, servers: SERVERS, watched: false }
  t.match(haproxyConfig(plain), /^ {2}bind 127\.0\.0\.1:4000$/m)
  t.strictSame(backendOf(plain), [
    'balance random(2)',
    'http-reuse always',
    'server one 127.0.0.1:4001',
    'server two 127.0.0.1:4002',
  ])
  const watched = backendOf({ ...plain, ...HAPROXY['haproxy-retry'], watched: true })
  t.ok(watched.includes('balance leastconn'))
  t.ok(watched.some((line) => line.startsWith('option httpchk')))
  t.ok(watched.some((line) => line.startsWith('retry-on ')))
  t.equal(watched.filter((line) => / check inter .* on-error mark-down$/.test(line)).length, SERVERS.length)
})
