import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../../support/lab.js'
import { until } from '../../support/until.js'

const CAMPAIGN = fileURLToPath(new URL('../../../tuning/pages/evidence/campaign.js', import.meta.url))
const SHELL = fileURLToPath(new URL('../../../load/run/shell.js', import.meta.url))
const RUNS = [
  { name: 'first', minutes: 1, argv: ['soak', '--duration', '4s', '--rate', '50'] },
  {
    name: 'second',
    minutes: 1,
    // More trials than it comes to before it is cut off, however late that is.
    argv: ['tune', '--knob', 'POOL_MAX=5,10', '--blocks', '4', '--duration', '300ms', '--capacity', '200'],
  },
]

t.test('evidence: what was cut off goes on, and what is finished is not measured again', async (t) => {
  const folder = temporaryFolder(t)
  const program = path.join(folder, 'campaign.mjs')
  writeFileSync(
    program,
    `import { campaignOf } from '${CAMPAIGN}'
import { main } from '${SHELL}'
process.exitCode = await main({ evidence: campaignOf(${JSON.stringify(RUNS)}, 1000) }, ['evidence', '--node', '${process.versions.node.split('.')[0]}', '--out', '${folder}/runs'])`,
  )
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const exited = once(child, 'exit')
  const fileOf = (/** @type {string} */ name) => path.join(folder, 'runs', name, 'run.json')
  await until('a trial of the second run', () => existsSync(path.join(folder, 'runs/second/trials.ndjson')))
  // As Ctrl-C does, which reaches the whole process group.
  process.kill(-Number(child.pid), 'SIGINT')
  t.equal((await exited)[0], 130)
  const runOf = (/** @type {string} */ name) => JSON.parse(readFileSync(fileOf(name), 'utf8'))
  const first = runOf('first')
  t.strictSame([first.interrupted, runOf('second').interrupted], [false, true])

  t.match(execFileSync(process.execPath, [program], { encoding: 'utf8' }), /^first: finished\nsecond: finished$/m)
  t.strictSame(runOf('first'), first)
  t.equal(runOf('second').interrupted, false)
})
