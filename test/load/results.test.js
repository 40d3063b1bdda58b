import fs from 'node:fs'
import t from 'tap'
import { UsageError } from '../../load/flags.js'
import { Results } from '../../load/results.js'
import { caught } from '../support/caught.js'

t.test('what is written can be read again', async (t) => {
  const results = Results.create(`${t.testdir()}/run`, 'id')
  results.writeRun({ run_id: 'id' })
  results.appendTrial(/** @type {any} */ ({ trial: 1 }))
  results.appendTrial(/** @type {any} */ ({ trial: 2 }))
  t.strictSame(results.readRun(), { run_id: 'id' })
  t.strictSame(results.readTrials(), [{ trial: 1 }, { trial: 2 }])
})

t.test('a folder that holds a run is never written over', async (t) => {
  const folder = t.testdir({ 'run.json': '{}' })
  t.type(
    caught(() => Results.create(folder, 'id')),
    UsageError,
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
