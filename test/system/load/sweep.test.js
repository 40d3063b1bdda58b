import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../sql/database.js'
import { rows } from '../../support/database.js'
import { runHere } from '../../support/in-process.js'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { httpServer } from '../../support/servers.js'

const SHORT = ['--duration', '500ms', '--warmup', '100ms', '--slo-p99', '10s']

t.test('--url loads what runs already, with what it is told to send, and counts no rows', async (t) => {
  const folder = temporaryFolder(t)
  const out = path.join(folder, 'run')
  /** @type {string[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    seen.push([req.method, req.url, req.headers['x-test'], (await req.toArray()).join('')].join())
    res.writeHead(200, { 'Content-Length': 0 }).end()
  })
  fs.writeFileSync(`${folder}/body`, '{"ping":true}')
  const headers = ['--header', 'X-Test: yes', '--header', 'Authorization: Bearer hunter2']
  const what = ['--method', 'PUT', ...headers, '--body', `${folder}/body`]
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const argv = ['sweep', '--url', url, '--rates', '50', ...SHORT, ...what, '--out', out]
  const { code, stderr } = await runHere(argv, { env })
  t.equal(code, 0, stderr)
  t.strictSame(seen, Array(25 + 5).fill('PUT,/user,yes,{"ping":true}'))
  const [{ target, traffic, outcome }] = readTrials(out)
  t.strictSame([target.kind, target.url, target.pid], ['url', url, null])
  t.strictSame([traffic.rows_stored, traffic.status, outcome.verdict], [null, { 200: 25 }, 'pass'])
  const files = fs.readdirSync(out)
  t.ok(files.includes('run.json') && files.includes('trials.ndjson'))
  for (const file of files) {
    t.notMatch(fs.readFileSync(`${out}/${file}`, 'utf8'), 'hunter2', `credentials stay out of ${file}`)
  }
  const resumed = await runHere(['sweep', '--resume', out])
  t.match(resumed, { code: 2, stderr: /secrets on its command line were not kept/ })
})

t.test('rows that the database loses are missed; settings come from the environment and are read back', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const { url } = await newDatabase(t)
  // The lab makes its table on the first run; the next one finds the trigger on it.
  const lossy = await openDatabase(url)
  await lossy.close()
  await rows(
    lossy.url,
    'CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM users WHERE id % 10 = 0; RETURN NULL; END $$',
  )
  await rows(lossy.url, 'CREATE TRIGGER lose AFTER INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION lose()')
  const env = { DATABASE_URL: url, POOL_MAX: '3', INSERT_MODE: 'single' }
  const { code, stderr } = await runHere(['sweep', '--rates', '100', ...SHORT, '--out', out], { env })
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: 1 of the loads asked for had no valid trial/)
  const [{ settings, traffic, outcome }] = readTrials(out)
  t.strictSame([settings.POOL_MAX, settings.INSERT_MODE], [3, 'single'])
  t.strictSame(traffic.status, { 201: 50 })
  t.strictSame([outcome.verdict, traffic.rows_stored], ['invalid', 45])
  t.match(outcome.because, /^50 requests were answered 201, 45 rows were stored/)
})

t.test('a database that does not answer ends the run with one line', async (t) => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const out = path.join(temporaryFolder(t), 'run')
  const { code, stdout, stderr } = await runHere(['sweep', '--rates', '10', '--out', out], { env })
  t.equal(code, 2)
  t.match(stderr, /^redline: DATABASE_URL: expected a Postgres that answers[^\n]*\n$/)
  t.equal(stdout, '')
})

t.test('so do settings that the API refuses', async (t) => {
  const { url } = await newDatabase(t)
  const env = { DATABASE_URL: url, POOL_MAX: '0' }
  const out = path.join(temporaryFolder(t), 'run')
  const { code, stdout, stderr } = await runHere(['sweep', '--rates', '10', '--out', out], { env })
  t.equal(code, 2)
  t.match(stderr, /^redline: POOL_MAX: expected a whole number from 1[^\n]*\n$/m)
  t.equal(stdout, '')
})
