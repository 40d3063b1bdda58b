import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { main } from '../../../../load/run/shell.js'
import { newState, writeProgress } from '../../../../tuning/workshop/progress.js'
import { workshop } from '../../../../tuning/workshop/workshop.js'
import { temporaryFolder } from '../../../support/lab.js'
import { wholeRun } from '../../../support/made-up/run.js'
import { createShell } from '../../../support/shell.js'
import { LINUX } from './made.js'

t.test('an exercise that was begun with another seed is not played with this one', async (t) => {
  const out = temporaryFolder(t)
  writeProgress(out, { format: 'redline-workshop-1', exercises: { files: { ...newState(LINUX), stage: 'turn' } } })
  fs.mkdirSync(path.join(out, '06-files'))
  const keep = (/** @type {object} */ run) => fs.writeFileSync(path.join(out, '06-files/run.json'), JSON.stringify(run))
  const played = async (/** @type {string[]} */ ...flags) => {
    const shell = createShell()
    const code = await main({ workshop }, ['workshop', '--exercise', '6', '--out', out, ...flags], shell)
    return { code, stderr: shell.said.stderr }
  }
  const { plan } = wholeRun()
  keep(wholeRun({ verb: 'workshop', plan: { ...plan, mix: { ...plan.mix, seed: 7 } } }))
  t.match(await played('--seed', '5'), {
    code: 2,
    stderr: /^redline: --seed: expected 7, with which the exercise was begun, got 5; .*--exercise 6 .*--reset forgets/m,
  })
  const goesOn = /06-files: expected the measurements of the exercise, got none/
  for (const flags of [[], ['--seed', '7']]) t.match(await played(...flags), { stderr: goesOn }, flags.join(' '))
  fs.writeFileSync(path.join(out, '06-files/run.json'), '{}\n')
  t.match(await played('--seed', '5'), { stderr: goesOn }, 'killed before its first trial, it has no seed yet')
})
