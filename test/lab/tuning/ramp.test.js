import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'
import { conserves, smoke } from '../../support/smoke.js'

/** @import { RequestListener } from 'node:http' */

/** Answers so many requests at once, each in 20 ms. @param {number} slots @returns {RequestListener} */
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

t.test('ramp: two services of somebody else, their prices, and no secrets', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const [a, b] = [await httpServer(t, limited(1)), await httpServer(t, limited(2))]
  const sides = ['--a', `${a}?token=hunter2`, '--b', `${b}?token=hunter2`]
  const prices = ['--price-a', '0.192/h', '--price-b', '0.312/h', '--storage-a', '1100GBx0.10']
  const flags = ['--latency-ceiling', '80ms', '--blocks', '1', '--duration', '600ms', '--quick', '--out', out]
  const { code, stdout, stderr } = await startLab(['ramp', ...sides, ...prices, ...flags]).ended
  t.equal(code, 0, stderr)
  conserves(t, readTrials(out))
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /of A do the work of one B at the ceiling \(too few blocks for an interval\)/)
  t.match(report, /per million requests/)
  t.match(report, `A (${a}?token=(withheld))`)
  t.match(report, /"Optimizing Performance and Cost: Infura Benchmark Analysis"/)
  t.match(report, /18\.75 % of what the two cost; the headline's 23 %/)
  t.match(stdout.replaceAll(/\s+/g, ' '), /of A do the work of one B/)
  const files = readdirSync(out)
  t.ok(files.includes('run.json'))
  for (const file of files) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
})

t.test('ramp: the local API with background writes; the mix is read from its file again', async (t) => {
  const { url } = await newDatabase(t)
  const folder = temporaryFolder(t)
  const [settings, mix] = ['a.env', 'mix.json'].map((name) => path.join(folder, name))
  writeFileSync(settings, 'INSERT_MODE=single\n')
  const create = { name: 'create', path: '/user', body: { email: '{{seq}}@redline.test', password: 'hunter2' } }
  writeFileSync(mix, JSON.stringify([create, { name: 'describe', path: '/openapi.json' }]))
  const load = ['--mix', mix, '--without', 'describe', '--background', '50', '--latency-ceiling', '10s']
  const short = ['--max-workers', '4', '--driver', 'client', '--blocks', '1', '--duration', '300ms', '--quick']
  const { out, run, trials } = await smoke(t, 'ramp', ['--a', settings, ...load, ...short], { databaseUrl: url })
  t.match(run.ramp.series[0], { blocks: 0, furthest: { workers: 4 } })
  t.strictSame(
    trials.map(({ at: { phase, variant, entry }, load }) => `${phase} ${variant ?? entry} ${load.connections}`).sort(),
    [...['climb all 4', 'climb without 4', 'screen create 4', 'screen describe 4']],
  )
  for (const { settings, traffic, beside, probes } of trials) {
    t.match(
      { settings, traffic },
      { settings: { INSERT_MODE: 'single', BACKGROUND_RPS: 50 }, traffic: { rows_stored: null } },
    )
    t.equal(beside.offered_rps, 50)
    t.ok(beside.planned >= 50 * (0.3 + 0.3), 'warm-up and rung, to their end')
    t.ok(beside.ok > 0, JSON.stringify(beside))
    t.ok(probes.postgres.connections > 0, 'Postgres is watched all the same')
  }
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /Background writes: 50\/s, of which/)
  t.match(report, /\| A: describe +\| +4 \|/)
  t.match(report, /\| A, 4: create +\|.* \d\.\d\dx \|$/m)
  t.ok(readdirSync(out).length > 2)
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
})
