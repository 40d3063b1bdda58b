import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import t from 'tap'
import { cellName } from '../../../load/report/format.js'
import { markdownOf } from '../../../load/report/markdown.js'
import { framed } from '../../../load/run/frame.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import * as VERBS from '../../../tuning/verbs.js'
import { labRows } from '../../support/given-database.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { startPostgres } from '../../support/postgres-host.js'
import { conserves } from '../../support/smoke.js'
import { ourProcesses, runSweep, startBareBox, startBox } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'
import { until } from '../../support/until.js'

/** Long enough to bring the packages to a host that has none. */
const INSTALLED_MS = 240_000

t.test('the API on another host', { skip: withoutHosts() ?? withoutSshd() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const hosts = await openHosts(t, ['box', 'strict', 'database'])
  const [box, strict, { url }] = await Promise.all([
    startBareBox(hosts.box),
    startBox(hosts.strict, { settings: ['AllowStreamLocalForwarding no'] }),
    startPostgres(hosts.database),
  ])
  const there = [...box.flags, '--database-url', url]

  // As an interactive shell sets its title; and a forwarding that somebody's other session has.
  fs.writeFileSync(`${box.folder}/root/.bashrc`, "printf '\\033]0;box\\007'\n")
  const other = net.createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => void other.close())
  const { port } = /** @type {net.AddressInfo} */ (other.address())
  fs.appendFileSync(box.configFile, `  LocalForward 127.0.0.1:${port} 127.0.0.1:1\n`)

  await t.test('a sweep: installed, started, loaded, seen there, and stopped', async (t) => {
    const out = `${folder}/sweep`
    const argv = [...box.flags, '--database-url', url, '--rates', '200,400', '--out', out]
    const lab = runSweep(argv, { POOL_MAX: '7', LAB_SECRET: 'not for the host' })
    // Both trials are still to come, so that there is time to look.
    const hasBegun = async () => lab.child.exitCode !== null || (await labRows(url).catch(() => 0)) > 0
    await until('the first row of the load', hasBegun, INSTALLED_MS)
    const inside = hosts.box.processes().find(({ command }) => /api\/server\.js/.test(command))
    const seen = await hosts.box.run([
      'sh',
      '-c',
      `cat /proc/${inside?.pid}/environ; ps -ef || cat /proc/[0-9]*/cmdline`,
    ])
    t.match(seen, 'POOL_MAX=7')
    t.notMatch(seen, 'LAB_SECRET', 'the API gets its settings, and nothing else of our environment')
    const password = new URL(url).password
    t.ok(inside, 'the API runs there')
    for (const { command } of hosts.box.processes()) t.notMatch(command, password, 'no password in a command line')
    const { code, stdout, stderr } = await lab.ended
    t.equal(code, 0, stderr)
    t.match(stderr, /copying Redline to root@\S+, and its packages by npm/)
    const trials = readTrials(out)
    t.equal(trials.length, 2)
    conserves(t, trials)
    for (const [i, rate_rps] of [200, 400].entries()) {
      t.match(trials[i], {
        settings: { POOL_MAX: 7, INSERT_MODE: 'batched', HOST: box.address, NOFILE: Number, NODE: process.version },
        target: { kind: 'ssh', url: `http://${box.address}:3000/user`, pid: inside?.pid },
        traffic: { sent: rate_rps, rows_stored: rate_rps },
        outcome: { verdict: 'pass' },
      })
      t.strictSame([trials[i].traffic.status, trials[i].traffic.errors], [{ 201: rate_rps }, {}])
      const { api, kernel, here } = trials[i].probes
      for (const name of ['cpu_s', 'rss_bytes', 'open_files', 'cpu_us_per_request', 'statements'])
        t.ok(api[name] > 0, name)
      for (const found of [kernel, here]) {
        t.ok(Object.keys(found.cores).length > 0)
        t.type(found.segments_sent, 'number')
      }
      t.ok('accept_queue_max' in kernel && !('accept_queue_max' in here), 'its port is that of the host')
    }
    const run = readRun(out)
    t.match(run, {
      capacity: { low_rps: 400 },
      target_machine: { name: box.user, cores: Number, memory_bytes: Number, kernel: String },
    })
    const report = fs.readFileSync(`${out}/report.md`, 'utf8')
    const blocks = framed(sweep, sweep.analyse(run.plan, trials, run), run, trials)
    t.ok(report.endsWith(`${markdownOf(blocks.filter((block) => !('brief' in block)))}\n`))
    t.match(report, /The API ran on .*root@/)
    t.match(report, /root@\S+, on which the API ran: /)
    t.match(stdout, /Capacity: at least 400\/s/)
    t.match(
      fs.readFileSync(`${out}/api.log`, 'utf8'),
      /"hostname":"box".*"listening"[\s\S]*"stopped"/,
      'its log came back',
    )
    for (const name of fs.readdirSync(out)) {
      t.notMatch(fs.readFileSync(`${out}/${name}`, 'utf8'), password, `credentials stay out of ${name}`)
    }
    t.strictSame(ourProcesses(box), [])
    t.strictSame(fs.readdirSync(`${box.folder}/tmp`), [], 'and no folder is left')
  })

  await t.test('a tune: knobs are turned there and read back there; what cannot be had is said', async (t) => {
    const out = `${folder}/tune`
    const knobs = ['--knob', 'NOFILE=900,2000000000', '--knob', 'POOL_MAX=20,5']
    const short = ['--blocks', '1', '--capacity', '200', '--duration', '300ms', '--out', out]
    const ended = await runHere(['tune', ...there, ...knobs, ...short], { verbs: VERBS })
    t.equal(ended.code, 0, ended.stderr)
    t.notMatch(ended.stderr, /copying/, 'what is installed is used')
    const cells = new Map(readTrials(out).map(({ cell, settings }) => [cellName(cell), settings]))
    t.equal(cells.size, 2)
    t.match(Object.fromEntries(cells), {
      'NOFILE=900 POOL_MAX=20': { NOFILE: 900, POOL_MAX: 20 },
      'NOFILE=900 POOL_MAX=5': { NOFILE: 900, POOL_MAX: 5 },
    })
    t.match(readRun(out).not_applied[0], { cell: { NOFILE: 2_000_000_000 }, because: /prlimit|nr_open|NOFILE/ })
    t.strictSame(ourProcesses(box), [])
  })

  await t.test('ablate: stages are taken away there', async (t) => {
    const out = `${folder}/ablate`
    const short = ['--stages', 'validate', '--consumers', 'paced', '--rate', '500', '--turns', '2', '--out', out]
    const { code, stderr } = await runHere(['ablate', ...there, ...short], { verbs: VERBS })
    t.ok(code === 0 || code === 1, `two rounds are too few for an answer: ${stderr}`)
    t.ok(readTrials(out).length > 0, stderr)
    for (const { target, settings } of readTrials(out)) {
      t.match({ target, settings }, { target: { kind: 'ssh' }, settings: { HOST: box.address, WITHOUT: /./ } })
    }
    t.strictSame(readRun(out).not_applied, [], 'each was seen to be away')
    t.strictSame(ourProcesses(box), [])
    t.equal(await box.run(['ls', '/tmp']), '', 'and no socket or token is left')
  })

  await t.test('ablate: an sshd that forwards no sockets gives a one-line error', async (t) => {
    const short = ['--stages', 'validate', '--consumers', 'paced', '--turns', '2', '--out', `${folder}/strict`]
    const argv = ['ablate', ...strict.flags, '--database-url', url, ...short]
    const { code, stderr } = await runHere(argv, { verbs: VERBS })
    t.equal(code, 2)
    t.match(stderr, /redline: expected an answer .* AllowStreamLocalForwarding yes\n$/)
    t.strictSame(ourProcesses(strict), [])
  })

  await t.test('faults: what is planted there is named, and what cannot be is left out', async (t) => {
    const out = `${folder}/faults`
    const only = ['--only', 'few-files,limiter,noisy-neighbours', '--duration', '1s', '--out', out]
    const { stderr } = await runHere(['faults', ...there, ...only], { verbs: VERBS })
    const trials = readTrials(out)
    t.ok(trials.length > 0 && !trials.some(({ cell }) => cell.fault === 'noisy-neighbours'))
    const planted = trials.filter(({ cell }) => Object.keys(cell).length === 1)
    const limits = new Map(planted.map(({ cell, limit }) => [cell.fault, limit.resource]))
    t.equal(limits.get('few-files'), 'nofile', stderr)
    t.equal(limits.get('limiter'), 'rate-limit', stderr)
    t.strictSame(ourProcesses(box), [])
  })
})
