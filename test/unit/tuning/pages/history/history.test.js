import fs from 'node:fs'
import t from 'tap'
import { main } from '../../../../../load/run/shell.js'
import { sweep } from '../../../../../load/verbs/sweep/sweep.js'
import { history } from '../../../../../tuning/pages/history/history.js'
import { createShell } from '../../../../support/shell.js'
import { createService } from '../../../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../../../support/simulated/verb.js'

/** @param {string[]} argv */
async function ran(...argv) {
  const shell = createShell()
  const code = await main({ history }, ['history', ...argv], shell)
  return { code, ...shell.said }
}

t.test('the sweeps of a folder in order of time, and where their level changed', async (t) => {
  const folder = memoryFolder(t)
  for (let i = 0; i < 10; i++) {
    const service = createService({ capacity_rps: i < 5 ? 3000 : 2000, noise: 0.01 }, { seed: i })
    await simulate(
      sweep,
      ['--no-proof', '--no-confirm', '--seed', String(i), '--out', `${folder}/sweep-${9 - i}`],
      service,
    )
    const file = `${folder}/sweep-${9 - i}/run.json`
    const run = JSON.parse(fs.readFileSync(file, 'utf8'))
    const machine = { ...run.machine, cpu_model: i === 0 ? 'other' : 'this' }
    fs.writeFileSync(file, JSON.stringify({ ...run, started_at: `2026-01-${10 + i}T00:00:00Z`, machine }))
  }
  const other = JSON.parse(fs.readFileSync(`${folder}/sweep-5/run.json`, 'utf8'))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/stricter`, { recursive: true })
  const plan = { ...other.plan, slo: { ...other.plan.slo, p99_ms: 20 } }
  fs.writeFileSync(`${folder}/stricter/run.json`, JSON.stringify({ ...other, plan }))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/sustained`, { recursive: true })
  const lasting = { ...other.plan, sustained_s: 60 }
  fs.writeFileSync(`${folder}/sustained/run.json`, JSON.stringify({ ...other, plan: lasting }))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/larger`, { recursive: true })
  const trials = fs.readFileSync(`${folder}/larger/trials.ndjson`, 'utf8')
  fs.writeFileSync(`${folder}/larger/trials.ndjson`, trials.replaceAll('"POOL_MAX":20', '"POOL_MAX":40'))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/interrupted`, { recursive: true })
  fs.writeFileSync(`${folder}/interrupted/run.json`, JSON.stringify({ ...other, interrupted: true, answer: 'none' }))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/own-database`, { recursive: true })
  const database = { ...other.database, kind: 'given', round_trip_ms: 0.5 }
  fs.writeFileSync(`${folder}/own-database/run.json`, JSON.stringify({ ...other, database }))
  fs.cpSync(`${folder}/sweep-5`, `${folder}/box`, { recursive: true })
  const target_machine = { ...other.machine, name: 'box', cores: 64 }
  fs.writeFileSync(`${folder}/box/run.json`, JSON.stringify({ ...other, target_machine }))
  fs.mkdirSync(`${folder}/not-a-run`)
  fs.mkdirSync(`${folder}/not-begun`)
  fs.writeFileSync(`${folder}/not-begun/run.json`, '{}')
  const { code, stdout } = await ran(folder)
  t.equal(code, 0, stdout)
  const said = stdout.replace(/\s+/g, ' ')
  t.match(said, /9 sweeps: the capacity changed at sweep-4 to 0\.6\d times the level before\./)
  t.match(said, 'Left out: 2 of other machines')
  t.match(said, 'Left out: 4 of another service, or with other requests, load, SLO or settings')
  t.ok(
    said.indexOf('| sweep-8 ') < said.indexOf('| sweep-5 ') &&
      said.indexOf('| sweep-5 ') < said.indexOf('| > sweep-4 '),
  )
  const { stdout: json } = await ran(folder, '--across-machines', '--json')
  const { runs, changes } = JSON.parse(json)
  t.equal(runs.length, 11)
  t.strictSame(changes, [6])
  t.match(runs[6], { name: 'sweep-4', changed: true, middle_rps: Number, cpu_us: Number })
})

/**
 * Copies of one sweep, each with a capacity of its own.
 * @param {import('tap').Test} t @param {number[]} factors of the capacity, in order of time
 */
async function copiesOf(t, factors) {
  const [folder, elsewhere] = [memoryFolder(t), memoryFolder(t)]
  const service = createService({ capacity_rps: 3000, noise: 0.01 }, { seed: 1 })
  await simulate(sweep, ['--no-proof', '--no-confirm', '--seed', '1', '--out', `${elsewhere}/sweep`], service)
  const run = JSON.parse(fs.readFileSync(`${elsewhere}/sweep/run.json`, 'utf8'))
  for (const [i, factor] of factors.entries()) {
    const own = `${folder}/sweep-${i + 1}`
    fs.cpSync(`${elsewhere}/sweep`, own, { recursive: true })
    const { low_rps, high_rps } = run.capacity
    const capacity = { ...run.capacity, low_rps: low_rps * factor, high_rps: high_rps * factor }
    const started_at = `2026-01-01T00:${String(i).padStart(2, '0')}:00Z`
    fs.writeFileSync(`${own}/run.json`, JSON.stringify({ ...run, capacity, started_at }))
  }
  return folder
}

t.test('too few sweeps to show a change: the answer says so, however clear the jump', async (t) => {
  const folder = await copiesOf(t, [1, 1.001, 0.999, 1.002, 0.5, 0.501, 0.499, 0.502])
  const { code, stdout } = await ran(folder)
  t.equal(code, 0, stdout)
  t.match(stdout.replace(/\s+/g, ' '), '8 sweeps: too few to tell a change from chance (at least 9 are needed).')
  t.notMatch(stdout, 'no change is clear')
})

t.test('a change of the spread alone is not called a change of the capacity', async (t) => {
  const both = (/** @type {number} */ share) => Array.from({ length: 20 }, (_, i) => 1 + (i % 2 ? share : -share))
  const { stdout } = await ran(await copiesOf(t, [...both(0.001), ...both(0.1)]))
  const said = stdout.replace(/\s+/g, ' ')
  t.match(said, /40 sweeps: the level or the spread of the capacity changed slightly at sweep-\d+\./)
  t.notMatch(said, 'times the level before')
})

t.test('if the cores changed speed when the capacity changed, the history says so', async (t) => {
  const folder = await copiesOf(t, [1, 1.001, 0.999, 1.002, 0.998, 0.6, 0.601, 0.599, 0.602, 0.598])
  const timed = (/** @type {(i: number) => number} */ workOf) => {
    for (let i = 1; i <= 10; i++) {
      const file = `${folder}/sweep-${i}/trials.ndjson`
      const trials = fs
        .readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const lines = trials.map((trial) => JSON.stringify({ ...trial, work_ms: workOf(i) }))
      fs.writeFileSync(file, `${lines.join('\n')}\n`)
    }
  }
  timed((i) => (i <= 5 ? 4 : 6.8))
  const slower = await ran(folder)
  const text =
    'changed at sweep-6 to 0.60 times the level before, and so did the speed of the cores: the same piece of work usually took 4.0 ms before, and 6.8 ms since.'
  t.match(slower.stdout.replace(/\s+/g, ' '), text)
  t.match(slower.stdout.replace(/\s+/g, ' '), '| 6.8 ms |')
  timed((i) => (i <= 5 ? 4 : 4.2))
  const { stdout } = await ran(folder)
  t.match(stdout.replace(/\s+/g, ' '), 'changed at sweep-6 to 0.60 times the level before.')
})

t.test('a sweep whose trials cannot be read is left out, named and counted', async (t) => {
  const folder = await copiesOf(t, [1, 1.001, 0.999])
  fs.appendFileSync(`${folder}/sweep-1/trials.ndjson`, '{"trial": 7, "at\n')
  fs.writeFileSync(`${folder}/sweep-3/trials.ndjson`, '{"trial":1}\n')
  const { code, stdout, stderr } = await ran(folder)
  t.equal(code, 0, stdout)
  t.match(stdout, 'Left out: 2 that cannot be read (damaged, or of an older version).')
  t.match(
    stderr,
    /^warning: left out: sweep-1: expected JSON in .*trials\.ndjson, line \d+, got .*\n.*sweep-3: expected a string as run_id in .*, line 1, got none/,
  )
  t.match(stdout, '| sweep-2 ')
})

t.test('a damaged run.json is named with what is wrong, and the other sweeps are listed', async (t) => {
  const folder = await copiesOf(t, [1, 1.001, 0.999, 1, 1, 1, 1, 1])
  const fileOf = (/** @type {number} */ i) => `${folder}/sweep-${i}/run.json`
  const { started_at, plan, ...run } = JSON.parse(fs.readFileSync(fileOf(1), 'utf8'))
  fs.truncateSync(fileOf(1), 100)
  fs.writeFileSync(fileOf(2), 'null')
  fs.rmSync(fileOf(3))
  fs.mkdirSync(fileOf(3))
  fs.writeFileSync(fileOf(4), JSON.stringify({ ...run, plan }))
  fs.writeFileSync(fileOf(5), JSON.stringify({ ...run, started_at, plan: { seed: 1 } }))
  fs.writeFileSync(fileOf(6), JSON.stringify({ ...run, plan, started_at: 7 }))
  fs.writeFileSync(fileOf(7), JSON.stringify({ ...run, plan, started_at: [started_at] }))
  const table = await ran(folder)
  t.equal(table.code, 0, table.stderr)
  t.match(table.stdout, '| sweep-8 ')
  t.match(table.stdout, 'Left out: 7 that cannot be read (damaged, or of an older version).')
  const named = table.stderr.trim().split('\n')
  t.match(
    named,
    [1, 2, 3, 4, 5, 6, 7].map((i) => new RegExp(`^warning: left out: sweep-${i}: .`)),
    'one line for each',
  )
  t.match(named[0], /sweep-1: expected JSON in .*run\.json, got /)
  t.match(named[3], /sweep-4: expected a string as started_at in .*run\.json, got none/)
  t.match(named[5], /sweep-6: expected a string as started_at in .*run\.json, got a number/)
  const { stdout, stderr } = await ran(folder, '--json')
  t.equal(JSON.parse(stdout).runs.length, 1)
  t.equal(stderr, table.stderr)
})

t.test('a folder without sweeps is no answer, and what is no folder a mistake', async (t) => {
  const folder = memoryFolder(t)
  const empty = await ran(folder)
  t.match(empty, { code: 1, stderr: /no trustworthy answer: expected sweeps with an interval/ })
  t.match(await ran(`${folder}/nowhere`), {
    code: 2,
    stderr: /^redline: history: expected a folder with results, got .*, which is not there\n$/,
  })
  fs.writeFileSync(`${folder}/file`, '')
  t.match(await ran(`${folder}/file`), {
    code: 2,
    stderr: /^redline: history: expected a folder with results, got .*, which is no folder\n$/,
  })
  t.match(await ran(), { code: 2, stderr: /^redline: history: expected one folder with results, got 0\n$/ })
})
