import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const PAGE = readFileSync('tuning/PLAYBOOK.md', 'utf8')

t.test('a claim from end to end: the soft limit does nothing, and the page stays as it is', async (t) => {
  const embedded = await newDatabase(t)
  const out = path.join(temporaryFolder(t), 'run')
  const args = ['tuning/cli.js', 'playbook', '--claim', 'soft-nofile-does-nothing', '--blocks', '1', '--out', out]
  const env = { ...process.env, DATABASE_URL: embedded.url }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
  t.equal(status, 0, stderr)
  t.match(stdout, /soft-nofile-does-nothing/)
  t.match(stdout, /1 claim: 1 undecided/)
  const own = readTrials(out).filter(({ cell }) => cell.includes('SOFT_NOFILE'))
  t.ok(own.length >= 1)
  t.ok(
    own.every(({ settings }) => settings.SOFT_NOFILE === 64 && settings.NOFILE > 64),
    'what the process has was read back',
  )
  t.equal(readFileSync('tuning/PLAYBOOK.md', 'utf8'), PAGE)
})
