import { spawnSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const embedded = await newDatabase(t)

t.test('bench and soak run from end to end', async (t) => {
  const folder = temporaryFolder(t)
  /** @type {[string, string[], string[]][]} */
  const verbs = [
    ['bench', ['--only', 'json,prepared', '--repeats', '2', '--duration', '100ms'], ['json', 'prepared']],
    ['soak', ['--duration', '1s', '--rate', '200'], []],
  ]
  for (const [verb, flags, cells] of verbs) {
    const out = path.join(folder, verb)
    const { status, stdout, stderr } = spawnSync(process.execPath, ['tuning/cli.js', verb, ...flags, '--out', out], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: embedded.url },
    })
    t.equal(status, 0, stderr)
    t.match(stdout, /report\.md/)
    t.strictSame([...new Set(readTrials(out).map(({ cell }) => cell))].sort(), cells.length > 0 ? cells : [null])
  }
})
