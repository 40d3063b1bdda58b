import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer, slowServer } from '../../support/servers.js'
import { conserves, smoke } from '../../support/smoke.js'

/** @import { RequestListener } from 'node:http' */

/** Latencies are rounded to microseconds. */
const ROUNDING_MS = 0.001
const SHORT = ['--per-worker-rps', '100000', '--blocks', '1', '--duration', '300ms', '--quick']

t.test('compare: two services of somebody else, with secrets that stay out of the files', async (t) => {
  const secret = 'Bearer of-nobody-else'
  let unauthorized = 0
  /** @type {RequestListener} */
  const guarded = (req, res) => {
    if (req.headers.authorization !== secret || req.url !== '/user?key=of-nobody-else') unauthorized++
    created(req, res)
  }
  const { url: slow, taken_ms } = await slowServer(t, 20, guarded)
  const quick = await httpServer(t, guarded)
  const out = path.join(temporaryFolder(t), 'run')
  const flags = ['--header', `Authorization: ${secret}`, '--concurrency', '5', ...SHORT]
  const sides = ['--a', `${slow}?key=of-nobody-else`, '--b', `${quick}?key={{env REDLINE_TEST_KEY}}`]
  const env = { ...process.env, REDLINE_TEST_KEY: 'of-nobody-else' }
  const { status, stdout, stderr } = await runVerb('compare', [...sides, ...flags, '--out', out], env)
  t.equal(status, 1, stderr)
  t.match(stdout, /Nothing could be compared\./, 'one block has no interval')
  t.match(stderr, /no trustworthy answer: nothing could be compared: .*too few blocks/)
  t.notMatch(stdout + stderr, 'of-nobody-else')
  const trials = readTrials(out)
  conserves(t, trials)
  const [a, b] = ['a', 'b'].map((name) => trials.find(({ cell }) => cell.side === name))
  t.strictSame([a.target.url, b.target.url], [`${slow}?key=(withheld)`, `${quick}?key={{env REDLINE_TEST_KEY}}`])
  const { ok_latency_ms, phases_ms } = a.traffic
  const least_ms = Math.min(...taken_ms) - ROUNDING_MS
  t.ok(ok_latency_ms.min >= least_ms, `${ok_latency_ms.min} ms, of which the service takes ${least_ms}`)
  t.ok(
    phases_ms.wait.p50 > phases_ms.write.p50 + phases_ms.read.p50,
    'the service takes its time between write and read',
  )
  t.type(phases_ms.connect.min, 'number')
  t.equal(a.traffic.rows_stored, null)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /## Histograms/)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /\n\| response size, bytes +\|.*\| +A \d+, B \d+ +\|\n/)
  t.equal(unauthorized, 0, 'the header and the key are sent with each request')
  const files = readdirSync(out)
  t.ok(files.includes('run.json') && files.includes('trials.ndjson'))
  for (const file of files) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'of-nobody-else', file)
  const resumed = await runVerb('compare', ['--resume', out], env)
  t.equal(resumed.status, 2)
  t.match(resumed.stderr, /expected the flags of the run .* again, since secrets .* were not kept/)
  const repeated = await runVerb('compare', [...sides, ...flags, '--resume', out], env)
  t.equal(repeated.status, 1, repeated.stderr)
  t.equal(readTrials(out).length, trials.length, 'nothing was left to measure')
})

t.test('compare: two files of settings for the local API', async (t) => {
  const { url } = await newDatabase(t)
  const folder = temporaryFolder(t)
  writeFileSync(path.join(folder, 'a.env'), 'INSERT_MODE=single\n')
  writeFileSync(path.join(folder, 'b.env'), 'INSERT_MODE=batched\nDB_DELAY_MS=5\n')
  const sides = ['--a', path.join(folder, 'a.env'), '--b', path.join(folder, 'b.env'), '--concurrency', '1']
  const { run, trials } = await smoke(t, 'compare', [...sides, ...SHORT], { databaseUrl: url, code: 1 })
  t.strictSame(
    run.differences.map((/** @type {any} */ { about }) => about),
    ['p50 at concurrency 1', 'maximum rate'],
  )
  const settings = new Set(
    trials.map(({ cell, settings: { INSERT_MODE, DB_DELAY_MS } }) => `${cell.side} ${INSERT_MODE} ${DB_DELAY_MS}`),
  )
  t.strictSame([...settings].sort(), ['a single undefined', 'b batched 5'])
})
