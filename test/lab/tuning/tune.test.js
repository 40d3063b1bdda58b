import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test('tune: a table, an env file, and a row for the cell that could not be had', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--knob', 'NOFILE=1024,2000000000', '--blocks', '1', '--duration', '300ms', '--capacity', '500']
  const { out, trials } = await smoke(t, 'tune', flags, { databaseUrl: url })
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /- NOFILE=2000000000 could not be applied: /)
  t.match(report, /\| NOFILE=2000000000 +\| +– /)
  t.match(report, /Noise floor/)
  t.match(readFileSync(path.join(out, 'recommended.env'), 'utf8'), /NOFILE=1024/)
  t.strictSame([...new Set(trials.map(({ settings }) => settings.NOFILE))], [1024])
})
