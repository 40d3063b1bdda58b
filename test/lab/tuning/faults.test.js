import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { FAULTS } from '../../../tuning/faults/index.js'
import { namespaceProblem } from '../../../tuning/faults/inside.js'
import { confusionTable, plantedTrial, problemOf } from '../../../tuning/faults/table.js'
import { rows } from '../../support/database.js'
import { processesOf, readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

t.test('there is a fault for each resource that the diagnosis names', async (t) => {
  t.equal(new Set(FAULTS.map(({ resource }) => resource)).size, FAULTS.length)
  t.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length)
})

t.test('the table says what was planted, what was named, and whether relaxing it helped', async (t) => {
  const record = (/** @type {string} */ cell, /** @type {string} */ resource, verdict = 'fail') => {
    const limit = { resource, runner_up: null, evidence: ['why'], runner_up_evidence: [], confirmed: null }
    return /** @type {any} */ ({
      cell,
      experiment: 'faults/0',
      limit,
      outcome: { verdict },
      traffic: { goodput_rps: 1 },
    })
  }
  const records = [
    record('pool-of-one', 'pool-size'),
    record('pool-of-one with POOL_MAX=4', 'none-reached', 'pass'),
    record('limiter', 'network'),
  ]
  const table = confusionTable(records)
  t.match(table, /\| pool-of-one \| pool-size +\| pool-size +\| – +\| yes: POOL_MAX=4 \| 1 of 1 \|/)
  t.match(table, /\| limiter +\| rate-limit \| network +\|.*\| 0 of 1 \|/)
  t.match(table, /1 of 2 named right/)
  t.match(
    problemOf({ repeats: 1, faults: ['pool-of-one', 'limiter'] }, records),
    'limiter: expected rate-limit, got network',
  )
  t.equal(problemOf({ repeats: 1, faults: ['pool-of-one'] }, records.slice(0, 2)), null)
  const noisy = record('limiter', 'machine-noise', 'invalid')
  t.equal(plantedTrial([noisy]), undefined, 'what a neighbour spoiled is repeated')
  t.equal(plantedTrial([noisy, records[2]]), records[2])
  t.equal(plantedTrial([noisy, noisy, noisy]), noisy, 'three times at the most')
  const crowd = record('noisy-neighbours', 'machine-noise', 'invalid')
  t.equal(plantedTrial([crowd]), crowd, 'unless the neighbour is what was planted')
  t.match(problemOf({ repeats: 2, faults: ['pool-of-one'] }, records.slice(0, 2)), '1 of 2 faults were tried')
})

t.test(
  'planted faults that leave no doubt are named beside other tests, too, and nothing of them is left',
  async (t) => {
    const embedded = await newDatabase(t)
    const folder = temporaryFolder(t)
    const out = path.join(folder, 'run')
    const argv = ['faults', '--only', 'few-files,limiter,generator-few-files', '--duration', '1s', '--out', out]
    const { status, stdout, stderr } = spawnSync(process.execPath, ['tuning/cli.js', ...argv], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: embedded.url, TMPDIR: folder },
    })
    t.equal(status, 0, stderr)
    t.match(stdout, /3 of 3 named right/)
    t.match(readFileSync(`${out}/report.md`, 'utf8'), /few-files .*: NOFILE=1024/, 'and the limit was relaxed')
    t.match(readRun(out), { problem: null })
    const [{ triggers }] = await rows(
      embedded.url,
      "SELECT count(*)::int AS triggers FROM pg_trigger WHERE tgrelid = 'users'::regclass AND NOT tgisinternal",
    )
    t.equal(triggers, 0)
    t.strictSame(processesOf(folder), [])
  },
)

t.test('a fault that needs a network of its own gets one', { skip: namespaceProblem() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const out = path.join(folder, 'run')
  const argv = ['faults', '--only', 'few-ports', '--duration', '1s', '--out', out]
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tuning/cli.js', ...argv], {
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: '', TMPDIR: folder },
  })
  t.equal(status, 0, stderr)
  t.match(stdout, /\| few-ports +\|.*generator-ports/)
  t.match(readTrials(out)[0], { run_id: readRun(out).run_id, outcome: { verdict: 'invalid', blame: 'generator' } })
})

t.test('an unknown fault is refused with the names of those that are known', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, ['tuning/cli.js', 'faults', '--only', 'gremlins'], {
    encoding: 'utf8',
  })
  t.equal(status, 2)
  t.match(stderr, /^redline: --only: expected some of spinning-handler,.* got "gremlins"\n$/)
})
