import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readTrials, temporaryFolder } from '../../support/lab.js'

t.test('a run: a table, an env file, and a row for the cell that could not be had', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--knob',
    'NOFILE=1024,2000000000',
    '--blocks',
    '1',
    '--duration',
    '300ms',
    '--capacity',
    '1000',
    '--out',
    out,
  ]
  const env = { ...process.env, DATABASE_URL: embedded.url }
  const { status, stderr } = spawnSync(process.execPath, ['tuning/cli.js', 'tune', ...flags], { encoding: 'utf8', env })
  t.equal(status, 0, stderr)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /\| NOFILE=2000000000 +\| +not applied: /)
  t.match(report, /Noise floor/)
  t.match(readFileSync(path.join(out, 'recommended.env'), 'utf8'), /NOFILE=1024/)
  t.ok(readTrials(out).every(({ settings }) => settings.NOFILE === 1024))
})
