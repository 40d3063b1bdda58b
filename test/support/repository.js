import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { temporaryFolder } from './lab.js'

/** A git repository, as working folder, whose file has the text of each commit in turn. @param {any} t @param {string[]} texts */
export function repository(t, texts) {
  const folder = temporaryFolder(t)
  git(folder, 'init', '--quiet', '--initial-branch', 'main')
  for (const text of texts) {
    fs.writeFileSync(`${folder}/file`, text)
    git(folder, 'add', '.')
    git(folder, 'commit', '--quiet', '--message', text)
  }
  const before = process.cwd()
  process.chdir(folder)
  t.teardown(() => process.chdir(before))
  return folder
}

/** @param {string} folder @param {string[]} args */
function git(folder, ...args) {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@a.test', '-c', 'commit.gpgsign=false']
  const { status, stderr } = spawnSync('git', ['-C', folder, ...identity, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}
