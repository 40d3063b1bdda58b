import t from 'tap'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test('soak: samples of memory and open files under a steady load', async (t) => {
  const { url } = await newDatabase(t)
  const { trials, stdout } = await smoke(t, 'soak', ['--duration', '6s', '--rate', '100'], { databaseUrl: url })
  t.equal(trials.length, 6)
  for (const { probes } of trials) t.ok(probes.api.rss_bytes > 0 && probes.api.open_files > 0)
  t.match(stdout, 'Memory (RSS)')
})
