import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { main } from '../../../../load/run/shell.js'
import { readClass } from '../../../../tuning/workshop/class.js'
import { newState, PROGRESS_FILE, readProgress, writeProgress } from '../../../../tuning/workshop/progress.js'
import { workshop } from '../../../../tuning/workshop/workshop.js'
import { temporaryFolder } from '../../../support/lab.js'
import { createShell } from '../../../support/shell.js'
import { LINUX } from './made.js'

t.test('damaged progress: one line names the way out, no other exercise is lost, a class is shown', async (t) => {
  const place = temporaryFolder(t)
  const knee = newState(LINUX)
  const another = /expected the folder of a workshop, got .*progress\.json of another format\n$/
  const damaged = /progress\.json: expected .*, got a damaged one of "files"; --reset --exercise N forgets .*\n$/
  for (const [name, exercises, message] of /** @type {[string, any, RegExp][]} */ ([
    ['none', undefined, another],
    ['round', { knee, files: { ...knee, round: null } }, damaged],
    ['facts', { knee, files: { ...knee, facts: undefined } }, damaged],
    ['answers', { knee, files: { stage: 'done' } }, damaged],
  ])) {
    const out = path.join(place, name)
    const run = async (/** @type {string[]} */ ...args) => {
      const shell = createShell()
      const code = await main({ workshop }, ['workshop', ...args, '--out', out], shell)
      return { code, ...shell.said }
    }
    writeProgress(out, { format: 'redline-workshop-1', exercises })
    const [file, hand] = [path.join(out, PROGRESS_FILE), path.join(place, 'hand-in.json')]
    const before = fs.readFileSync(file, 'utf8')
    for (const args of [['--list'], ['--exercise', '6'], ['--reset', '--exercise', '1'], ['--hand-in', hand]]) {
      t.match(await run(...args), { code: 2, stdout: '', stderr: message }, `${name}: ${args[0]}`)
    }
    t.strictSame([fs.existsSync(hand), fs.readFileSync(file, 'utf8')], [false, before])
    t.equal(readClass(place).find((student) => student.name === name)?.unreadable, PROGRESS_FILE)
    if (!exercises) continue
    t.match(await run('--reset', '--exercise', '6'), { code: 0, stdout: /Forgotten: files/ })
    t.strictSame(Object.keys(readProgress(out).exercises), ['knee'])
  }
})
