import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'

t.test('two services of somebody else', async (t) => {
  const slow = await httpServer(t, (req, res) => void setTimeout(() => created(req, res), 20))
  const secret = 'Bearer of-nobody-else'
  let unauthorized = 0
  const quick = await httpServer(t, (req, res) => {
    if (req.headers.authorization !== secret || req.url !== '/user?key=of-nobody-else') unauthorized++
    created(req, res)
  })
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--header',
    `Authorization: ${secret}`,
    '--concurrency',
    '5',
    '--per-worker-rps',
    '100000',
    '--blocks',
    '1',
    '--duration',
    '300ms',
    '--quick',
    '--out',
    out,
  ]
  const sides = ['--a', `${slow}?key=of-nobody-else`, '--b', `${quick}?key={{env REDLINE_TEST_KEY}}`]
  const env = { ...process.env, REDLINE_TEST_KEY: 'of-nobody-else' }
  const { status, stdout, stderr } = await runVerb('compare', [...sides, ...flags], env)
  t.equal(status, 0, stderr)
  t.match(stdout, /Too few blocks/)
  t.notMatch(stdout + stderr, 'of-nobody-else')
  const trials = readTrials(out)
  const [a, b] = ['a', 'b'].map((name) => trials.find(({ cell }) => cell === name))
  t.ok(a.traffic.phases_ms.wait.p50 >= 19 && b.traffic.phases_ms.wait.p50 < 19)
  t.ok(a.traffic.phases_ms.connect.p50 >= 0)
  t.equal(a.traffic.rows_stored, null)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /## Histograms/)
  t.equal(unauthorized, 0, 'the header and the key are sent with each request')
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'of-nobody-else', file)
  t.strictSame([a.target.url, b.target.url], [`${slow}?key=(withheld)`, `${quick}?key={{env REDLINE_TEST_KEY}}`])
  const resumed = await runVerb('compare', ['--resume', out], env)
  t.match(resumed, { status: 2, stderr: /expected the flags of the run .* again, since secrets .* were not kept/ })
  const repeated = await runVerb('compare', [...sides, ...flags.slice(0, -2), '--resume', out], env)
  t.equal(repeated.status, 0, repeated.stderr)
  t.equal(readTrials(out).length, trials.length, 'nothing was left to measure')
})

t.test('two files of settings for the local API', async (t) => {
  const embedded = await newDatabase(t)
  const folder = temporaryFolder(t)
  writeFileSync(path.join(folder, 'a.env'), 'INSERT_MODE=single\n')
  writeFileSync(path.join(folder, 'b.env'), 'INSERT_MODE=batched\nDB_DELAY_MS=5\n')
  const out = path.join(folder, 'run')
  const sides = ['--a', path.join(folder, 'a.env'), '--b', path.join(folder, 'b.env')]
  const flags = [
    '--concurrency',
    '1',
    '--per-worker-rps',
    '100000',
    '--blocks',
    '1',
    '--duration',
    '300ms',
    '--quick',
    '--out',
    out,
    '--json',
  ]
  const { status, stdout, stderr } = await runVerb('compare', [...sides, ...flags], {
    ...process.env,
    DATABASE_URL: embedded.url,
  })
  t.equal(status, 0, stderr)
  t.match(JSON.parse(stdout), { verb: 'compare', differences: [{ about: 'p50 at 1' }, { about: 'maximum rate' }] })
  const settings = Object.fromEntries(readTrials(out).map((record) => [record.cell, record.settings]))
  t.match(settings, { a: { INSERT_MODE: 'single' }, b: { INSERT_MODE: 'batched', DB_DELAY_MS: 5 } })
})
