import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { namespaceProblem } from '../../../tuning/faults/inside.js'
import { rows } from '../../support/database.js'
import { processesOf, readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

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
