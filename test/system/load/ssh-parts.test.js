import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { watchHost } from '../../../load/probes/index.js'
import { openPlanned } from '../../../load/run/runner.js'
import { bindOf, keepLog } from '../../../load/system/ssh/host.js'
import { bundleOf, prepare, scriptFor } from '../../../load/system/ssh/prepare.js'
import { startRemote } from '../../../load/system/ssh/remote.js'
import { makeScratch } from '../../../sql/scratch.js'

const TRAFFIC = { sent: 0, completed: 0, lateness_ms: null }
const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'

t.test('a line that is lost while nobody waits yet for what was seen there is no crash', async (t) => {
  const host = /** @type {any} */ ({ ask: async () => Promise.reject(new Error('the line was lost')) })
  const { use } = watchHost(host)
  const used = use()
  // An unhandled rejection would have ended the process by now.
  await setImmediate()
  await t.rejects(used, /the line was lost/)
})

t.test('a host is asked for its figures once for each end of a load, and the last ones count', async (t) => {
  let ends = 0
  const ask = async () => ({ process: { cpu_s: ++ends }, kernel: { time_wait: ends } })
  const there = watchHost(/** @type {any} */ ({ ask }))
  const endOf = async () => {
    there.again()
    const [use, kernel] = [there.use(), there.kernel.end()(TRAFFIC)]
    return [(await use)?.cpu_s, (await kernel).time_wait]
  }
  t.strictSame(await endOf(), [1, 1])
  t.strictSame(await endOf(), [2, 2])
})

t.test('the agent', { skip: withoutProc }, async (t) => {
  const folder = t.testdir()
  const alive = makeScratch('agent', folder)
  const killed = alive.replace(`-${process.pid.toString(36)}-`, `-${Number(spawnSync('true').pid).toString(36)}-`)
  fs.mkdirSync(killed)
  fs.writeFileSync(path.join(killed, 'sslkey.pem'), 'secret')
  const agent = spawn(process.execPath, ['load/targets/ssh/agent.js'], { env: { ...process.env, TMPDIR: folder } })
  let hello = ''
  while (!/hello.*\n/.test(hello)) hello += String(await once(agent.stdout, 'data'))
  t.match(hello, /^\n/, 'begins a line of its own, whatever a shell printed before')
  t.notOk(fs.existsSync(killed))
  t.equal(fs.readdirSync(folder).length, 2, 'removes what one that was killed left, and nothing else')
  agent.stdin.write('{"id":1,"ask":"sta\n{"id":2,"ask":"facts"}\n')
  const [answer] = await once(agent.stdout, 'data')
  t.match(String(answer), /^\{"id":2,"result"/, 'half a question is none')
  agent.stdin.end()
  const [code] = await once(agent, 'exit')
  t.equal(code, 0)
  t.strictSame(fs.readdirSync(folder), [path.basename(alive)], 'and leaves nothing')
})

t.test('where the load comes in by a way of its own, the API listens on any address of that kind', async (t) => {
  /** @type {[string | null, string, string | null, string][]} */
  const cases = [
    [null, '10.0.0.9', '172.31.0.4', '172.31.0.4'],
    [null, '10.0.0.9', null, '0.0.0.0'],
    [null, '2001:db8::9', null, '::'],
    ['box', '10.0.0.9', '172.31.0.4', '0.0.0.0'],
    ['box', '2001:db8::9', '172.31.0.4', '::'],
  ]
  for (const [asked, address, ours, expected] of cases) t.equal(bindOf({ address: asked }, address, ours), expected)
})

t.test(
  'the log of an API on another host is kept behind what is there; where it cannot be, the run goes on',
  async (t) => {
    const file = path.join(t.testdir(), 'api.log')
    for (const line of ['one\n', 'two\n']) keepLog(file, line)
    t.equal(fs.readFileSync(file, 'utf8'), 'one\ntwo\n')
    for (const lost of ['/dev/full', path.join(file, 'api.log'), '/no/such/api.log']) {
      t.doesNotThrow(() => keepLog(lost, 'three\n'), lost)
    }
  },
)

t.test('of several Nodes the first that is new enough is taken', async (t) => {
  const folder = t.testdir()
  const NEW = process.execPath
  addProgram(folder, 'node', 'echo v12.22.9')
  addProgram(folder, 'knows-new', `echo 'Welcome to the box'; echo ${NEW}`)
  addProgram(folder, 'knows-none', 'exit 127')
  const look = (/** @type {string} */ shell) => startHere(t, folder, bundleOf(), { SHELL: path.join(folder, shell) })
  t.strictSame(await look('knows-new').heard('node'), [NEW])
  const refused = prepare(look('knows-none'), bundleOf(), { name: 'box', note: () => {} })
  await t.rejects(refused, /^--ssh box: expected Node 20\.19 or newer there, got v12\.22\.9 \(/)
})

t.test('a cache that others may write is not used, and what is not ours in it stays', async (t) => {
  const folder = t.testdir({ redline: { 'code-old': {}, 'somebody-else': {} } })
  const cache = path.join(folder, 'redline')
  for (const name of fs.readdirSync(cache)) fs.utimesSync(path.join(cache, name), 0, 0)
  const bundle = { code: 'code-new', modules: 'modules-new', files: {}, packages: {} }
  const bring = () =>
    prepare(startHere(t, folder, bundle, { XDG_CACHE_HOME: folder }), bundle, { name: 'box', note: () => {} })
  fs.mkdirSync(path.join(cache, 'modules-new'))
  fs.chmodSync(cache, 0o777)
  await t.rejects(
    bring(),
    /^--ssh box: expected .* to be writable by nobody else, got drwxrwxrwx .*redline: chmod go-w it/,
  )
  t.ok(fs.existsSync(path.join(cache, 'code-old')), 'and nothing is done in it')
  fs.chmodSync(cache, 0o755)
  await bring()
  t.strictSame(fs.readdirSync(cache).sort(), ['code-new', 'modules-new', 'somebody-else'])
})

t.test('a limit that cannot be relaxed leaves its cell out; the run as it is has to begin', async (t) => {
  const place = /** @type {any} */ ({
    databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
    cores: null,
    allCores: null,
    env: process.env,
    logFile: path.join(t.testdir(), 'api.log'),
  })
  const plan = { url: null, metrics_url: null }
  const refused = await openPlanned({ NOFILE: 2_000_000_000 }, place, plan).catch((reason) => reason)
  t.ok(refused instanceof NotApplied, refused.message)
  const impossible = { ...place, nofile: 2_000_000_000 }
  const error = await openPlanned(null, impossible, plan).catch((reason) => reason)
  t.notOk(error instanceof NotApplied, error.message)
})

/** @param {string} folder @param {string} name @param {string} script */
function addProgram(folder, name, script) {
  fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}

/**
 * The connection to a host that is this machine: `ssh` runs the command.
 * @param {any} t @param {string} folder comes first on PATH @param {Parameters<typeof scriptFor>[0]} bundle
 * @param {Record<string, string>} env
 */
function startHere(t, folder, bundle, env) {
  addProgram(folder, 'ssh', 'for last; do :; done; exec sh -c "$last"')
  const changed = { ...env, PATH: `${folder}:${process.env.PATH}` }
  const before = Object.keys(changed).map((name) => [name, process.env[name]])
  Object.assign(process.env, changed)
  const { signal } = new AbortController()
  const remote = startRemote('box', { flag: '--ssh', config: null, signal, ...scriptFor(bundle) })
  for (const [name] of before) delete process.env[String(name)]
  Object.assign(process.env, Object.fromEntries(before.filter(([, value]) => value !== undefined)))
  t.teardown(() => remote.close())
  return remote
}
