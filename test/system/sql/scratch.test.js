import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeScratch, removeLeftovers } from '../../../sql/scratch.js'
import { dataParent } from '../../support/data-parent.js'
import { startLab, temporaryFolder } from '../../support/lab.js'
import { without, withoutRoot } from '../../support/skip.js'
import { firstLine } from '../../support/until.js'

/** @import { ChildProcess } from 'node:child_process' */

/**
 * A process that makes folders, one with a Postgres in it, until it is killed.
 * @param {any} t
 * @param {string} parent
 * @returns {Promise<{ child: ChildProcess, folders: string[], pid: number }>}
 */
async function owner(t, parent) {
  const program = `
    import { makeScratch } from './sql/scratch.js'
    import { startServer } from './test/support/postgres.js'
    const { pid, folder } = await startServer({}, '${parent}')
    console.log(JSON.stringify({ folders: [folder, makeScratch('vegeta', '${parent}')], pid: pid() }))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  return { child, ...JSON.parse(await firstLine('the folders of their owner', child.stdout)) }
}

/** For data folders. @param {any} t */
function parentOfOwners(t) {
  const parent = fs.mkdtempSync(path.join(dataParent(), 'redline-test-'))
  fs.chmodSync(parent, 0o755)
  t.teardown(() => fs.rmSync(parent, { recursive: true, force: true }))
  return parent
}

/** Empty where the process has ended, reaped or not. @param {number} pid */
function commandOf(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

t.test('the next run removes what a kill -9 left, and a Postgres that still runs in it', async (t) => {
  const parent = parentOfOwners(t)
  const { child, folders, pid } = await owner(t, parent)
  await removeLeftovers([parent])
  t.equal(folders.length, 2)
  t.ok(
    folders.every((folder) => fs.existsSync(folder)),
    'those of a lab that runs stay',
  )
  // A stopped postmaster does not notice that its owner is gone.
  process.kill(pid, 'SIGSTOP')
  child.kill('SIGKILL')
  await once(child, 'exit')
  // What comes before a verb looks at its flags comes before every run.
  const { code } = await startLab(['sweep', '--nonsense'], { TMPDIR: parent }).ended
  t.equal(code, 2)
  for (const folder of folders) t.notOk(fs.existsSync(folder))
  t.equal(commandOf(pid), '', 'it has ended')
})

t.test('two that start at once leave each other’s folders alone', async (t) => {
  const parent = parentOfOwners(t)
  const { child, folders } = await owner(t, parent)
  child.kill('SIGKILL')
  await once(child, 'exit')
  const both = await Promise.all([owner(t, parent), owner(t, parent)])
  t.ok(folders.length > 0 && !folders.some((folder) => fs.existsSync(folder)), 'the dead one’s are gone')
  t.ok(
    both.every((one) => one.folders.length > 0 && one.folders.every((folder) => fs.existsSync(folder))),
    'those of both are there',
  )
})

t.test('only what is provably of a dead process of ours is removed', async (t) => {
  const parent = temporaryFolder(t)
  const [own] = [makeScratch('postgres', parent)]
  const name = path.basename(own)
  const [, host, boot] = /-([0-9a-f]{6})-([0-9a-f]{6})-/.exec(name) ?? []
  const { pid } = spawnSync('true')
  const dead = Number(pid).toString(36)
  const kept = [
    'redline-postgres-AbCdEf',
    'redline-agent-1-AbCdEf',
    `redline-postgres-000000-${boot}-${dead}-1-AbCdEf`,
    `redline-postgres-${host}-${boot}-${dead}-1`,
    'unrelated',
    name,
  ]
  const removed = [
    `redline-postgres-${host}-${boot}-${dead}-1-AbCdEf`,
    `redline-wrk-${host}-000000-${process.pid.toString(36)}-1-AbCdEf`,
    `redline-ssh-${host}-${boot}-${process.pid.toString(36)}-1-AbCdEf`,
  ]
  for (const folder of [...kept, ...removed]) fs.mkdirSync(path.join(parent, folder), { recursive: true })
  const target = path.join(parent, 'unrelated', 'file')
  fs.writeFileSync(target, '')
  const link = `redline-postgres-${host}-${boot}-${dead}-2-AbCdEf`
  fs.symlinkSync(path.dirname(target), path.join(parent, link))
  await removeLeftovers([parent])
  t.strictSame(fs.readdirSync(parent).sort(), [...kept, link].sort())
  t.ok(fs.existsSync(target))
})

t.test('a folder keeps its path for programs that run elsewhere, also in a TMPDIR relative to here', async (t) => {
  const parent = t.testdir()
  const folder = makeScratch('wrk', path.relative('.', parent))
  t.equal(path.dirname(folder), parent)
})

t.test('another user’s folder stays', { skip: withoutRoot() || without('setpriv', '--version') }, async (t) => {
  const parent = temporaryFolder(t)
  const [, host, boot] = /-([0-9a-f]{6})-([0-9a-f]{6})-/.exec(makeScratch('postgres', parent)) ?? []
  const theirs = path.join(
    parent,
    `redline-postgres-${host}-${boot}-${Number(spawnSync('true').pid).toString(36)}-1-AbCdEf`,
  )
  fs.mkdirSync(theirs)
  fs.chownSync(theirs, 65534, 65534)
  await removeLeftovers([parent])
  t.ok(fs.existsSync(theirs))
})
