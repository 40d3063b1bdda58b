import fs from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { created, httpServer } from '../../support/servers.js'

t.test('a sweep whose generator is stopped keeps its trials, says why it broke off, and exits 1', async (t) => {
  const url = await httpServer(t, created)
  const folder = temporaryFolder(t)
  const load = ['--rates=20,30', '--duration=3s', '--warmup=500ms', '--timeout=500ms', '--connections=2']
  const { child, ended } = startLab(['sweep', `--url=${url}`, ...load, `--out=${folder}`])
  const until = Date.now() + 60_000
  while (!fs.existsSync(`${folder}/trials.ndjson`) || readTrials(folder).length === 0) {
    if (Date.now() > until) return t.fail('expected a trial')
    await setTimeout(50)
  }
  let generator = null
  while (generator === null && Date.now() < until) {
    const children = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
    generator = children.find((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('generator.js')) ?? null
    await setTimeout(50)
  }
  process.kill(Number(generator), 'SIGSTOP')
  const { code, stderr } = await ended
  t.equal(code, 1)
  t.match(stderr, /the run broke off: expected the generator \(paced\) to end "\w+" within \d+/)
  t.equal(readTrials(folder).length, 1)
  t.match(readRun(folder).problem, /^the run broke off: expected the generator/)
  t.notOk(fs.existsSync(`/proc/${generator}`))
})
