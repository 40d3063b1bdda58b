import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { checkOut } from '../../../load/targets/checkouts.js'
import { textOf } from '../../../sql/attempt.js'
import { checkoutsOf, temporaryFolder } from '../../support/lab.js'
import { repository } from '../../support/repository.js'
import { until } from '../../support/until.js'

/** @param {any} t @param {Record<string, string>} refs @param {object} [how] */
async function checkedOut(t, refs, how = {}) {
  const options = { build: null, isOurs: false, signal: new AbortController().signal, note: () => {}, ...how }
  const found = await checkOut(refs, options)
  t.teardown(() => fs.rmSync(found.folder, { recursive: true, force: true }))
  return found
}

t.test('each ref is checked out and built in a folder of its own, and the repository is left alone', async (t) => {
  const folder = repository(t, ['one', 'two'])
  fs.writeFileSync(`${folder}/file`, 'not committed')
  const {
    paths,
    commits,
    folder: own,
  } = await checkedOut(t, { base: 'HEAD~1', head: 'main' }, { build: 'cp file built && pwd > where' })
  t.ok(checkoutsOf(process.pid).includes(path.basename(own)))
  t.equal(fs.readFileSync(`${paths.base}/built`, 'utf8'), 'one')
  t.equal(fs.readFileSync(`${paths.head}/built`, 'utf8'), 'two')
  t.equal(fs.readFileSync(`${paths.head}/where`, 'utf8').trim(), fs.realpathSync(paths.head))
  t.match(commits.base, /^[0-9a-f]{40}$/)
  t.not(commits.base, commits.head)
  t.equal(fs.readFileSync(`${folder}/file`, 'utf8'), 'not committed')
  t.strictSame(fs.readdirSync(folder).sort(), ['.git', 'file'])
  t.equal(spawnSync('git', ['worktree', 'list'], { encoding: 'utf8' }).stdout.trim().split('\n').length, 1)
})

t.test('what cannot be checked out or built is refused in one line, and leaves nothing', async (t) => {
  const folder = repository(t, ['one'])
  const rows = /** @type {[Record<string, string>, object, RegExp][]} */ ([
    [
      { base: 'nowhere' },
      {},
      /^--base: expected refs of the git repository in this folder, got nowhere: .*Needed a single revision/,
    ],
    [{ head: '--help' }, {}, /^--head: expected refs .*, got --help: /],
    [{ base: 'HEAD', head: 'nowhere' }, { build: 'exit 1' }, /^--head: expected refs .*, got nowhere: /],
    [
      { base: 'HEAD' },
      { isOurs: true },
      /^--base: expected --start COMMAND, since HEAD has no api\/server.js to be started, got none$/,
    ],
    [
      { head: 'HEAD' },
      { build: 'echo no such package >&2; exit 1' },
      /^--build: expected "echo .*" to succeed for --head, got: no such package$/,
    ],
  ])
  const before = checkoutsOf(process.pid)
  for (const [refs, how, message] of rows) await t.rejects(checkedOut(t, refs, how), { message })
  t.strictSame(checkoutsOf(process.pid), before)
  const elsewhere = temporaryFolder(t)
  process.chdir(elsewhere)
  await t.rejects(checkedOut(t, { base: 'HEAD' }), {
    message: /^--base, --head: expected refs of the git repository in this folder, got: fatal: not a git repository/,
  })
  process.chdir(folder)
})

t.test('a repository of another user is refused with what git says of it, and its advice', async (t) => {
  const folder = repository(t, ['one'])
  // Git's own tests pretend another owner so.
  Object.assign(process.env, { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1', GIT_CONFIG_GLOBAL: '/dev/null' })
  t.teardown(() => {
    delete process.env.GIT_TEST_ASSUME_DIFFERENT_OWNER
    delete process.env.GIT_CONFIG_GLOBAL
  })
  const { message } = await checkedOut(t, { base: 'HEAD' }).catch((error) => error)
  t.match(message, /got: fatal: .*dubious ownership in repository at .*; git config --global --add safe\.directory /)
  t.equal(message.split('\n').length, 1)
  t.ok(message.endsWith(folder), message)
})

t.test('what a build has left running ends with it, and is not waited for', async (t) => {
  repository(t, ['one'])
  const { paths } = await checkedOut(t, { base: 'HEAD' }, { build: 'sleep 1000 & echo $! > left' })
  const pid = fs.readFileSync(`${paths.base}/left`, 'utf8').trim()
  t.match(pid, /^\d+$/)
  // A zombie has no command line.
  await until('its end', () => (textOf(`/proc/${pid}/cmdline`) ?? '') === '')
})

t.test('the module by which Node compiles early is known to this Node, and says nothing', async (t) => {
  const url = new URL('../../../load/probes/compile-early.js', import.meta.url).href
  const { status, stdout, stderr } = spawnSync(process.execPath, [`--import=${url}`, '-p', '1'], { encoding: 'utf8' })
  t.strictSame({ status, stdout, stderr }, { status: 0, stdout: '1\n', stderr: '' })
})

t.test('one checkout after the other adds no listener to the process', async (t) => {
  repository(t, ['one'])
  const before = process.listenerCount('exit')
  for (let i = 0; i < 3; i++) await checkedOut(t, { base: 'main' })
  t.equal(process.listenerCount('exit'), before)
})
