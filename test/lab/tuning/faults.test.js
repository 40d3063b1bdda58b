import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { namespaceProblem } from '../../../tuning/experiments/faults/namespace.js'
import { quotaProblem } from '../../../tuning/experiments/faults/quota.js'
import { rows } from '../../support/database.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { conserves, smoke } from '../../support/smoke.js'

t.test('faults: what is planted is named, its limit is relaxed, and nothing of it is left', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--only', 'few-files,few-connections', '--duration', '1s']
  const { out, run, stdout } = await smoke(t, 'faults', flags, { databaseUrl: url })
  t.match(stdout, 'Named correctly: 2 of 2.')
  t.match(readFileSync(`${out}/report.md`, 'utf8'), /\| few-files .*: NOFILE=1024/, 'and the limit was relaxed')
  t.equal(run.problem, null)
  // A trigger makes statements slow, so that few connections are a limit.
  const [{ triggers }] = await rows(
    url,
    "SELECT count(*)::int AS triggers FROM pg_trigger WHERE tgrelid = 'redline_lab.users'::regclass AND NOT tgisinternal",
  )
  t.equal(triggers, 0)
})

t.test('a fault that needs a network of its own gets one', { skip: namespaceProblem() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const out = path.join(folder, 'run')
  const argv = ['faults', '--only', 'few-ports', '--duration', '1s', '--out', out]
  const { code, stdout, stderr } = await startLab(argv, { TMPDIR: folder }).ended
  t.equal(code, 0, stderr)
  t.match(stdout, /\| few-ports +\|.*generator-ports/)
  conserves(t, readTrials(out))
  t.match(readTrials(out)[0], { run_id: readRun(out).run_id, outcome: { verdict: 'invalid', blame: 'generator' } })
})

t.test('a CPU quota is planted, named and removed', { skip: quotaProblem() ?? false }, async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const { code, stdout, stderr } = await startLab(['faults', '--only', 'cpu-quota', '--duration', '1s', '--out', out])
    .ended
  t.equal(code, 0, stderr)
  t.match(stdout, 'Named correctly: 1 of 1.')
  const [{ target, probes }] = readTrials(out)
  t.equal(probes.api.quota_cores, 0.05)
  t.ok(probes.api.throttled_ratio > 0.5, `throttled ${probes.api.throttled_ratio} of the time`)
  t.throws(() => readdirSync(`/sys/fs/cgroup/cpu/redline-${target.pid}`), { code: 'ENOENT' })
})
