import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import t from 'tap'
import { checkoutsOf, processesOf, readRun, startLab, temporaryFolder } from '../../support/lab.js'

/** A service on its PORT that computes for so many turns per request. @param {number} turns */
const serviceOf = (turns) => `
import http from 'node:http'
function work(turns) { let sum = 0; for (let i = 0; i < turns; i++) sum += Math.sqrt(i); return sum }
const server = http.createServer((req, res) => res.end(String(work(${turns}))))
server.listen(process.env.PORT, '127.0.0.1')
process.on('SIGTERM', () => process.exit())
`

/** @param {any} t @param {string[]} versions of server.mjs, a commit each */
function repository(t, versions) {
  const folder = temporaryFolder(t)
  const git = (/** @type {string[]} */ ...args) => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@a.test', '-c', 'commit.gpgsign=false']
    t.equal(spawnSync('git', ['-C', folder, ...identity, ...args]).status, 0, args[0])
  }
  git('init', '--quiet')
  for (const text of versions) {
    fs.writeFileSync(`${folder}/server.mjs`, text)
    git('add', '.')
    git('commit', '--quiet', '--allow-empty', '--message', 'version')
  }
  return folder
}

t.test('a change that makes a request cost half as much again is found, with the file that it is in', async (t) => {
  const folder = repository(t, [serviceOf(150_000), serviceOf(225_000)])
  const out = `${folder}/run`
  const argv = ['gate', '--base', 'HEAD~1', '--start', 'exec node server.mjs', '--blocks', '6', '--out', out]
  const lab = startLab(argv, { REDLINE_TEST_MARK: folder }, { cwd: folder })
  const { code, stdout, stderr } = await lab.ended
  t.equal(code, 1, stderr)
  t.match(stdout, /^Regressed: CPU per request of head \/ base: 1\.[3-7]/m)
  const run = readRun(out)
  t.match(run, { verdict: 'regressed', commits: { base: /^[0-9a-f]{40}$/, head: /^[0-9a-f]{40}$/ } })
  const [first] = run.functions
  // V8 may have inlined work() into the handler.
  t.match(first.name, /^(work|\(anonymous\)) \(server\.mjs\)$/)
  t.ok(first.head_us > first.base_us, JSON.stringify(first))
  t.equal(run.stages[0].name, 'server.mjs', JSON.stringify(run.stages))
  const comment = fs.readFileSync(`${out}/comment.md`, 'utf8')
  t.match(comment, /worse was accepted\. The largest part is in server\.mjs: \+\d/)
  t.match(comment, `\`${first.name}\``)
  t.strictSame(processesOf(folder), [])
  t.strictSame(checkoutsOf(lab.child.pid), [])
})

t.test('Ctrl-C ends both services, and removes the checkouts', async (t) => {
  const folder = repository(t, [serviceOf(1000), serviceOf(1000)])
  const argv = ['gate', '--base', 'HEAD~1', '--start', 'node server.mjs', '--out', `${folder}/run`]
  // The services inherit it, so that they can be found.
  const lab = startLab(argv, { REDLINE_TEST_MARK: folder }, { cwd: folder })
  await lab.stderrHas('trial 2')
  t.equal(checkoutsOf(lab.child.pid).length, 1)
  t.ok(processesOf(folder).length >= 3, 'the lab and its two services')
  lab.child.kill('SIGINT')
  t.equal((await lab.ended).code, 130)
  t.strictSame(processesOf(folder), [])
  t.strictSame(checkoutsOf(lab.child.pid), [])
})
