import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'

/** Answers so many requests at once, each in 20 ms. @param {number} slots @returns {import('node:http').RequestListener} */
function limited(slots) {
  /** @type {(() => void)[]} */
  const waiting = []
  let free = slots
  const start = () => {
    for (; free > 0 && waiting.length > 0; free--) {
      const answer = /** @type {() => void} */ (waiting.shift())
      setTimeout(() => {
        answer()
        free++
        start()
      }, 20)
    }
  }
  return (req, res) => {
    waiting.push(() => created(req, res))
    start()
  }
}

t.test('two services of somebody else, of which one does eight times the work', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const [a, b] = [await httpServer(t, limited(1)), await httpServer(t, limited(8))]
  const sides = ['--a', `${a}?token=hunter2`, '--b', `${b}?token=hunter2`]
  const prices = ['--price-a', '0.192/h', '--price-b', '0.312/h', '--storage-a', '1100GBx0.10']
  // Far apart, and in times far above a stall, so that other tests which have the cores do not decide.
  const flags = ['--latency-ceiling', '160ms', '--blocks', '2', '--duration', '600ms', '--quick', '--out', out]
  const { status, stdout, stderr } = await runVerb('ramp', [...sides, ...prices, ...flags])
  t.equal(status, 0, stderr)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /of A do the work of one B at the ceiling \(too few blocks for an interval\)/)
  t.match(report, /per million requests/)
  t.match(stdout, /of A do the work of one B/)
  t.match(report, `A (${a}?token=(withheld))`)
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
  const { ramp } = readRun(out)
  t.ok(ramp.work.ratio > 3 && ramp.work.ratio < 20, `${ramp.work.ratio}`)
  t.ok(ramp.cost.a.estimate > ramp.cost.b.estimate)
  t.match(report, /"Optimizing Performance and Cost: Infura Benchmark Analysis"/)
  t.match(report, /18\.75 % of what the two cost; the headline of 23 %/)
})

t.test('the local API with writes beside it', async (t) => {
  const embedded = await newDatabase(t)
  const folder = temporaryFolder(t)
  writeFileSync(path.join(folder, 'a.env'), 'INSERT_MODE=single\n')
  const out = path.join(folder, 'run')
  const mix = path.join(folder, 'mix.json')
  const create = { name: 'create', path: '/user', body: { email: '{{seq}}@redline.test', password: 'hunter2' } }
  writeFileSync(mix, JSON.stringify([create, { name: 'describe', path: '/openapi.json' }]))
  const load = [
    '--mix',
    mix,
    '--without',
    'describe',
    '--background',
    '50',
    '--latency-ceiling',
    '1s',
    '--max-workers',
    '4',
    '--driver',
    'client',
  ]
  const flags = ['--a', path.join(folder, 'a.env'), '--blocks', '1', '--duration', '300ms', '--quick', '--out', out]
  const { status, stdout, stderr } = await runVerb('ramp', [...flags, ...load, '--json'], {
    ...process.env,
    DATABASE_URL: embedded.url,
  })
  t.equal(status, 0, stderr)
  t.match(JSON.parse(stdout), { verb: 'ramp', ramp: { series: [{ blocks: 0, furthest: { workers: 4 } }] } })
  const trials = readTrials(out)
  t.strictSame(trials.map(({ experiment }) => experiment).sort(), [
    ...['ramp/0/a:client:all/4', 'ramp/0/a:client:without/4', 'screen/create', 'screen/describe'],
  ])
  const [record] = trials
  t.match(record, { settings: { INSERT_MODE: 'single', BACKGROUND_RPS: 50 }, traffic: { rows_stored: null } })
  t.equal(record.beside.offered_rps, 50)
  t.ok(record.beside.planned >= 50 * (0.3 + 0.3), 'warm-up and rung, to their end')
  t.ok(record.beside.ok > 0, JSON.stringify(record.beside))
  t.ok(record.probes.postgres.connections > 0, 'Postgres is watched all the same')
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /Writes beside it: 50\/s, of which/)
  t.match(report, /\| A: describe +\| +4 \|/)
  t.match(report, /\| A, 4: create +\|.* \d\.\d\dx \|$/m)
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
  const resumed = await runVerb('ramp', ['--resume', out], { ...process.env, DATABASE_URL: embedded.url })
  t.equal(resumed.status, 0, `${resumed.stderr}: the mix comes from its file again`)
})
