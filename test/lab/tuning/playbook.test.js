import { readFileSync } from 'node:fs'
import t from 'tap'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

const PAGE = readFileSync('tuning/PLAYBOOK.md', 'utf8')

t.test('playbook: a claim is measured again, and the page stays as it is', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--claim', 'soft-nofile-does-nothing', '--blocks', '1']
  const { trials, stdout } = await smoke(t, 'playbook', flags, { databaseUrl: url })
  t.match(stdout, /soft-nofile-does-nothing/)
  t.match(stdout, /1 claim: 1 undecided/)
  const own = trials.filter(({ cell }) => 'SOFT_NOFILE' in cell)
  t.ok(own.length > 0)
  for (const { settings } of own)
    t.ok(settings.SOFT_NOFILE === 64 && settings.NOFILE > 64, 'read back from the process')
  t.equal(readFileSync('tuning/PLAYBOOK.md', 'utf8'), PAGE)
})
