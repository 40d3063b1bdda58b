import fs from 'node:fs'
import t from 'tap'
import { UsageError } from '../../load/flags.js'
import { Results } from '../../load/results.js'
import { caught } from '../support/caught.js'

t.test('what is written can be read again', async (t) => {
  const results = Results.create(`${t.testdir()}/run`, 'id')
  results.writeRun({ run_id: 'id', plan: {} })
  results.appendTrial(/** @type {any} */ ({ trial: 1 }))
  results.appendTrial(/** @type {any} */ ({ trial: 2 }))
  t.strictSame(results.readRun(), { run_id: 'id', plan: {} })
  t.strictSame(results.readTrials(), [{ trial: 1 }, { trial: 2 }])
})

t.test('a folder that holds a run is never written over', async (t) => {
  const folder = t.testdir({ 'run.json': '{}' })
  t.type(
    caught(() => Results.create(folder, 'id')),
    UsageError,
  )
})

t.test('a run that never began leaves its folder as free as it was', async (t) => {
  const folder = `${t.testdir()}/run`
  Results.create(folder, 'id').releaseUnused()
  t.notOk(fs.existsSync(folder))
  const begun = Results.create(folder, 'id')
  begun.writeRun({ plan: {} })
  begun.releaseUnused()
  t.ok(fs.existsSync(`${folder}/run.json`))
})

t.test('what is not JSON is refused with its place', async (t) => {
  const folder = t.testdir({ 'run.json': '{"plan"', 'trials.ndjson': '{"trial":1}\nnonsense\n' })
  const results = new Results(folder)
  t.match(
    caught(() => results.readRun()),
    { message: /^run.json: expected JSON/ },
  )
  t.match(
    caught(() => results.readTrials()),
    { message: /^trials.ndjson, line 2: expected JSON/ },
  )
})

t.test('a folder that cannot be written is refused', async (t) => {
  const folder = t.testdir({ file: '' })
  t.type(
    caught(() => Results.create(`${folder}/file/run`, 'id')),
    UsageError,
  )
})

t.test('resuming drops a line that was cut off while it was written, and goes on behind it', async (t) => {
  const folder = t.testdir({ 'run.json': '{}', 'trials.ndjson': '{"trial":1}\n{"trial":2,"tra' })
  const results = Results.resume(folder)
  results.appendTrial(/** @type {any} */ ({ trial: 2 }))
  t.equal(fs.readFileSync(`${folder}/trials.ndjson`, 'utf8'), '{"trial":1}\n{"trial":2}\n')
})

t.test('resuming a folder without a run is refused', async (t) => {
  t.type(
    caught(() => Results.resume(t.testdir())),
    UsageError,
  )
})
