import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import t from 'tap'
import { refWarnings, workingTree } from '../../../tuning/experiments/gate/refs.js'
import { repository } from '../../support/repository.js'

const { signal } = new AbortController()

/** @param {string} ref */
function commitOf(ref) {
  return spawnSync('git', ['rev-parse', ref], { encoding: 'utf8' }).stdout.trim()
}

t.test('uncommitted changes are warned of by whatever name head is given, and only if it is checked out', async (t) => {
  const folder = repository(t, ['one', 'two'])
  fs.writeFileSync(`${folder}/file`, 'not committed')
  const [base, head] = ['HEAD~1', 'main'].map(commitOf)
  const tree = await workingTree(signal)
  t.strictSame(tree, { commit: head, uncommitted: ['file'] })
  const warnings = refWarnings({ base, head }, tree)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /^uncommitted changes are not measured, .*: file$/)
  t.strictSame(refWarnings({ base: head, head: base }, tree), [], 'another commit was asked for')
})

t.test('a working tree that git cannot describe is warned of, and does not end the run', async (t) => {
  const folder = repository(t, ['one', 'two'])
  const [base, head] = ['HEAD~1', 'main'].map(commitOf)
  fs.writeFileSync(`${folder}/.git/index`, 'damaged')
  const tree = await workingTree(signal)
  t.strictSame(tree, { commit: head, uncommitted: null })
  const warnings = refWarnings({ base, head }, tree)
  t.equal(warnings.length, 1)
  t.match(warnings[0], /^uncommitted changes were not looked for, since git status failed/)
})

t.test('a working tree with more changes than fit into a megabyte of names is described', async (t) => {
  repository(t, ['one'])
  const [blob, files] = [commitOf('HEAD:file'), 6000]
  const input = Array.from({ length: files }, (_, i) => `100644 ${blob}\t${'long/'.repeat(40)}${i}\n`).join('')
  spawnSync('git', ['update-index', '--index-info'], { input })
  t.equal((await workingTree(signal)).uncommitted?.length, files)
})

t.test('an interruption ends the look at the working tree', async (t) => {
  repository(t, ['one'])
  await t.rejects(workingTree(AbortSignal.abort()), { name: 'AbortError' })
})
