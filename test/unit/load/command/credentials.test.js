import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { keptDatabaseUrl, keptHeader, keptUrl } from '../../../../load/command/credentials.js'
import { UsageError } from '../../../../load/command/errors.js'
import { parseCommand } from '../../../../load/command/flags.js'
import { resolveText, resolveUrl } from '../../../../load/command/references.js'
import { PLAN_FLAGS, planOf } from '../../../../load/run/plan.js'
import { keptPlan, lacksCredentials, livePlan, secretWarnings } from '../../../../load/run/plan-secrets.js'
import { DATABASE_FLAG } from '../../../../load/system/ssh/plan.js'
import { caught } from '../../../support/caught.js'

const FLAGS = { ...PLAN_FLAGS, ...DATABASE_FLAG }

t.test('a header keeps its value only if its name is harmless or the value refers to a secret', async (t) => {
  const rows = [
    ['Accept: text/html', 'Accept: text/html'],
    ['content-type: application/json', 'content-type: application/json'],
    ['User-Agent: me', 'User-Agent: me'],
    ...[
      'Authorization',
      'Cookie',
      'apikey',
      'Private-Token',
      'X-Access-Token',
      'X-Amz-Security-Token',
      'X-Anything',
    ].map((name) => [`${name}: hunter2`, `${name}: (withheld)`]),
    ['Authorization: Bearer {{env TOKEN}}', 'Authorization: Bearer {{env TOKEN}}'],
    ['Authorization: hunter2 {{env TOKEN}}', 'Authorization: (withheld)'],
    ['X-Key: {{file key.txt}}', 'X-Key: {{file key.txt}}'],
    ['Authorization Bearer hunter2', '(withheld)'],
    ['hunter2', '(withheld)'],
    ['X-Key: {{hunter2}}', 'X-Key: (withheld)'],
  ]
  for (const [text, kept] of rows) t.equal(keptHeader(text), kept)
})

t.test('a URL keeps its address and the names of its query', async (t) => {
  const rows = [
    ['http://a.test/user', 'http://a.test/user'],
    ['http://a.test/user?', 'http://a.test/user?'],
    ['http://a.test/@me', 'http://a.test/@me'],
    ['http://a.test/?token=hunter2&page=1&flag=', 'http://a.test/?token=(withheld)&page=(withheld)&flag='],
    ['http://a.test/?token={{env TOKEN}}&x=a{{env B}}', 'http://a.test/?token={{env TOKEN}}&x=(withheld)'],
    ['http://a.test/?hunter2', 'http://a.test/?(withheld)'],
    ['http://a.test/?a=b=hunter2', 'http://a.test/?a=(withheld)'],
    ['http://a.test/#hunter2', 'http://a.test/'],
    ['http://bob:hunter2@a.test/user', 'http://(withheld)@a.test/user'],
    ['http://bob:hun/ter2@a.test/user', 'http://(withheld)@a.test/user'],
    ['http://:hunter2@a.test/', 'http://(withheld)@a.test/'],
    ['http://bob:hun#ter2@a.test/user', 'http://(withheld)@a.test/user'],
    ['http://bob:hun?ter2@a.test/user?page=1', 'http://(withheld)@a.test/user'],
    ['http://bob:12#hunter2@a.test/', 'http://(withheld)@a.test/'],
    ['http://a.test/?mail=ada@example.com', 'http://a.test/?mail=(withheld)'],
    ['bob:hunter2@a.test', '(withheld)@a.test'],
    ['{{env SERVICE_URL}}', '{{env SERVICE_URL}}'],
  ]
  for (const [text, kept] of rows) t.equal(keptUrl(text), kept)
  t.equal(keptDatabaseUrl('postgres://bob:hunter2@h/db'), 'postgres://(withheld)')
})

t.test('a command line is kept without secrets, however its flags are written', async (t) => {
  const argv = ['--header', 'apikey: hunter2', '--header=X-Token: hunter2', '--rates', '10', '--no-confirm']
  const urls = ['--url', 'http://a.test/?key=hunter2', '--database-url=postgres://bob:hunter2@h/db']
  t.strictSame(parseCommand(FLAGS, [...argv, ...urls]).shown, [
    ...['--header', 'apikey: (withheld)', '--header=X-Token: (withheld)', '--rates', '10', '--no-confirm'],
    ...['--url', 'http://a.test/?key=(withheld)', '--database-url=postgres://(withheld)'],
  ])
})

t.test('messages do not repeat what may be a secret', async (t) => {
  const file = path.join(t.testdir({ mix: '[{"name":"a","path":"/a","body":"hunter2"' }), 'mix')
  const wrong = [
    ['--header', 'Authorization Bearer hunter2'],
    ['--header', 'Authorization:', 'hunter2'],
    ['--header', 'X-Token: hunter2\nX: y'],
    ['--url', 'http://bob:hunter2@a.test/'],
    ['--url', 'ftp://a.test/?token=hunter2'],
    ['--metrics-url', 'a.test/?hunter2'],
    ['--database-url', 'mysql://bob:hunter2@h/db'],
    ['--mix', file],
  ]
  for (const argv of wrong) {
    const error = caught(() => planOf(parseCommand(FLAGS, argv).given))
    t.type(error, UsageError, argv[0])
    t.notMatch(error.message, 'hunter2')
    t.match(error.message, /expected .*, got /)
  }
})

t.test('a kept plan holds neither headers nor queries nor bodies, and comes alive again with its files', async (t) => {
  const mix = [
    { name: 'a', path: '/a?token=hunter2', body: '{"password":"hunter2"}', weight: 2, slo: 'p99<9ms' },
    { name: 'b', path: '/b/{{int 1 9}}?page={{data page}}&id={{taken id}}', headers: { Authorization: 'hunter2' } },
    { name: 'c', path: '/c/{{data name}}', take: { id: '/id' } },
  ]
  const data = 'name,page\nhunter2,1\n'
  const folder = t.testdir({ mix: JSON.stringify(mix), body: 'hunter2', token: 'hunter2\n', data })
  const mixed = ['--driver', 'client', '--mix', `${folder}/mix`, '--data', `${folder}/data`]
  const token = `{{file ${folder}/token}}`
  const metrics = ['--metrics-url', `http://a.test/metrics?token=${token}`]
  const flags = [
    '--url',
    `http://a.test/?token=${token}`,
    '--header',
    `Authorization: Bearer ${token}`,
    '--seed',
    '1',
    ...metrics,
  ]
  for (const content of [['--body', `${folder}/body`], [...mixed, '--without', 'b'], mixed]) {
    const plan = planOf(parseCommand(FLAGS, [...flags, ...content]).given)
    const kept = keptPlan(plan)
    const text = JSON.stringify(kept)
    t.notOk(text.includes('hunter2') || text.includes(Buffer.from('hunter2').toString('base64')), 'no secret is kept')
    t.strictSame(livePlan(kept), livePlan(plan))
    if (content.includes('--mix')) t.strictSame(kept.slo.by_entry, { a: { p99_ms: 9 } }, 'SLOs are no secret')
    t.match(livePlan(kept), { url: 'http://a.test/?token=hunter2', shown_url: `http://a.test/?token=${token}` })
    t.equal(livePlan(kept).metrics_url, 'http://a.test/metrics?token=hunter2')
    t.strictSame(livePlan(kept).mix.headers.at(-1), ['Authorization', 'Bearer hunter2'])
  }
  const withData = keptPlan(planOf(parseCommand(FLAGS, [...flags, ...mixed]).given))
  fs.appendFileSync(path.join(folder, 'data'), 'a,2\n')
  t.match(caught(() => livePlan(withData)).message, /^--data: expected .*data as it was when the run began \(/)
  const kept = keptPlan(planOf(parseCommand(FLAGS, [...flags, '--body', `${folder}/body`]).given))
  fs.writeFileSync(path.join(folder, 'body'), 'another')
  fs.utimesSync(path.join(folder, 'body'), 1, 1)
  t.match(
    caught(() => livePlan(kept)).message,
    /^--body: expected .*body as it was when the run began \(7 bytes of .*, got 7 bytes/,
  )
})

t.test('what the command line alone held is missing from a kept plan', async (t) => {
  const plan = (/** @type {string[]} */ ...argv) => keptPlan(planOf(parseCommand(FLAGS, argv).given))
  t.notOk(lacksCredentials(plan('--header', 'Accept: a/b', '--url', 'http://a.test/')))
  t.ok(lacksCredentials(plan('--header', 'X-Token: a')))
  const file = path.join(
    t.testdir({ 'mix.json': '[{"name":"a","method":"GET","path":"/a?limit=20","weight":1}]' }),
    'mix.json',
  )
  const mixed = plan('--url', 'http://a.test/', '--mix', file)
  t.match(JSON.stringify(mixed), 'limit=(withheld)')
  t.notOk(lacksCredentials(mixed), 'its file is read again')
  const inline = ['--body', '{"password":"hunter2"}']
  t.ok(lacksCredentials(plan(...inline)))
  const { shown } = parseCommand(FLAGS, inline)
  for (const kept of [JSON.stringify(plan(...inline)), shown.join(' ')])
    t.notOk(kept.includes('hunter2') || kept.includes(Buffer.from('hunter').toString('base64').slice(0, 8)))
  t.strictSame(shown, ['--body', '(withheld)'])
  t.ok(lacksCredentials(plan('--url', 'http://a.test/?a=b')))
  t.ok(lacksCredentials(plan('--url', 'http://a.test/', '--metrics-url', 'http://a.test/metrics?a=b')))
})

t.test('a reference stands for a variable or a file', async (t) => {
  const folder = t.testdir({ one: 'a b&c\n', empty: '\n', two: 'hunter2\nhunter3\n' })
  process.env.REDLINE_TEST_SECRET = 'from the environment'
  t.equal(resolveText('header', 'x {{env REDLINE_TEST_SECRET}} y'), 'x from the environment y')
  t.notOk('REDLINE_TEST_SECRET' in process.env, 'no child inherits the variable')
  t.equal(resolveText('header', '{{env REDLINE_TEST_SECRET}}'), 'from the environment', 'and we still know it')
  t.ok(resolveText('header', '{{env PATH}}') && process.env.PATH, 'but for those that every program needs')
  t.equal(resolveText('header', `{{file ${folder}/one}}`), 'a b&c')
  t.equal(resolveText('header', '{{ env  REDLINE_TEST_SECRET }}'), 'from the environment', 'spaces within are allowed')
  t.equal(resolveText('header', '{env A} }}'), '{env A} }}', 'single braces are sent as they are')
  for (const text of ['{{seq}}', '{{env}}', '{{envA}}', '{{ENV A}}', '{{env REDLINE_TEST_SECRET}} {{']) {
    for (const resolve of [resolveText, resolveUrl]) {
      t.throws(() => resolve('url', text), { message: /^--url: expected \{\{ to begin .*got another \{\{/ }, text)
    }
  }
  t.equal(
    resolveUrl('url', `http://{{env REDLINE_TEST_SECRET}}/?a={{file ${folder}/one}}`),
    'http://from the environment/?a=a%20b%26c',
  )
  const rows = /** @type {[string, RegExp][]} */ ([
    ['{{env REDLINE_TEST_NONE}}', /^--header: expected an environment variable REDLINE_TEST_NONE, got none: export/],
    [`{{file ${folder}/none}}`, /^--header: expected a readable file, got ENOENT/],
    [`{{file ${folder}/empty}}`, /^--header: expected a secret in .*empty, got an empty file$/],
    [`{{file ${folder}/two}}`, /^--header: expected a single line in \{\{file .*two\}\}, got several$/],
  ])
  for (const [text, message] of rows) {
    const error = caught(() => parseCommand(FLAGS, ['--header', `X: ${text}`]).given)
    t.type(error, UsageError)
    t.match(error.message, message)
  }
})

t.test('a secret in a file that others may read is worth a warning', async (t) => {
  const folder = t.testdir({ token: 'a' })
  const given = `{{file ${folder}/token}}`
  const plan = planOf(parseCommand(FLAGS, ['--header', `X: ${given}`]).given)
  fs.chmodSync(path.join(folder, 'token'), 0o644)
  t.equal(secretWarnings(/** @type {any} */ ({ postgres_url: given })).length, 1, 'of the database, too')
  const warnings = secretWarnings(plan)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /token holds a secret and others may read it \(mode 644\): chmod 600 /)
  fs.chmodSync(path.join(folder, 'token'), 0o600)
  t.strictSame(secretWarnings(plan), [])
})
