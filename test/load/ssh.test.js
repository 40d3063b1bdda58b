import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import t from 'tap'
import { renderReport } from '../../load/report/report.js'
import { openHosts, withoutHosts } from '../support/hosts.js'
import { readRun, readTrials, runVerb, startLab, temporaryFolder } from '../support/lab.js'
import { startPostgres } from '../support/postgres-host.js'
import { copyInstalled, ourProcesses, runSweep, startBox, untilNothingRuns } from '../support/ssh-box.js'
import { withoutSshd } from '../support/sshd.js'

t.test('the API on another host', { skip: withoutHosts() ?? withoutSshd() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const hosts = await openHosts(t, ['box', 'cut', 'database', 'another'])
  const [box, cut, { url }, another] = await Promise.all([
    startBox(hosts.box),
    startBox(hosts.cut),
    startPostgres(hosts.database),
    startPostgres(hosts.another),
  ])

  await t.test('a sweep: installed, started, loaded, seen there, and stopped', async (t) => {
    const out = `${folder}/sweep`
    const argv = [...box.flags, '--database-url', url, '--rates', '200,400', '--out', out]
    const lab = runSweep(argv, { POOL_MAX: '7', LAB_SECRET: 'not for the host' })
    await lab.stderrHas('trial 1:')
    const inside = hosts.box.processes().find(({ command }) => /api\/server\.js/.test(command))
    const seen = await hosts.box.run([
      'sh',
      '-c',
      `cat /proc/${inside?.pid}/environ; ps -ef || cat /proc/[0-9]*/cmdline`,
    ])
    t.notMatch(seen, 'LAB_SECRET', 'the API gets its settings, and nothing else of our environment')
    const password = new URL(url).password
    for (const { command } of hosts.box.processes()) t.notMatch(command, password, 'no password in a command line')
    const { code, stdout, stderr } = await lab.ended
    t.equal(code, 0, stderr)
    t.match(stderr, /copying Redline to root@\S+, and its packages by npm/)
    const trials = readTrials(out)
    t.equal(trials.length, 2)
    for (const [i, rate_rps] of [200, 400].entries()) {
      t.match(trials[i], {
        settings: { POOL_MAX: 7, INSERT_MODE: 'batched', HOST: box.address, NOFILE: Number, NODE: process.version },
        target: { kind: 'ssh', url: `http://${box.address}:3000/user`, pid: inside?.pid },
        traffic: { sent: rate_rps, rows_stored: rate_rps, status: { 201: rate_rps }, errors: {} },
        outcome: { verdict: 'pass' },
      })
      const { api, kernel, here } = trials[i].probes
      for (const name of ['cpu_s', 'rss_bytes', 'open_files', 'cpu_us_per_request', 'statements'])
        t.ok(api[name] > 0, name)
      for (const found of [kernel, here]) t.match(found, { cores: {}, segments_sent: Number })
      t.ok('accept_queue_max' in kernel && !('accept_queue_max' in here), 'its port is that of the host')
    }
    const run = readRun(out)
    t.match(run, {
      capacity: { low_rps: 400 },
      target_machine: { name: box.user, cores: Number, memory_bytes: Number, kernel: String },
    })
    const report = fs.readFileSync(`${out}/report.md`, 'utf8')
    t.equal(report, renderReport(run, trials))
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
    const knobs = ['--knob', 'NOFILE=900,800,2000000000', '--knob', 'POOL_MAX=20,5']
    const short = ['--blocks', '1', '--capacity', '200', '--duration', '300ms', '--out', out]
    const ended = await runVerb('tune', [...box.flags, '--database-url', url, ...knobs, ...short])
    t.equal(ended.status, 0, ended.stderr)
    t.notMatch(ended.stderr, /copying/, 'what is installed is used')
    const cells = new Map(readTrials(out).map(({ cell, settings }) => [cell, settings]))
    t.match(Object.fromEntries(cells), {
      'NOFILE=900 POOL_MAX=20': { NOFILE: 900, POOL_MAX: 20 },
      'NOFILE=800 POOL_MAX=5': { NOFILE: 800, POOL_MAX: 5 },
    })
    t.equal(cells.size, 4)
    t.match(readRun(out).not_applied[0], { cell: /NOFILE=2000000000/, because: /prlimit|nr_open|NOFILE/ })
    t.strictSame(ourProcesses(box), [])
  })

  t.test('when the line is cut', async (t) => {
    copyInstalled(box, cut)
    const other = new URL(another.url)
    /** @param {string} name */
    const start = async (name) => {
      const argv = [...cut.flags, '--database-url', other.href, '--rates', '100,100,100', '--out', `${folder}/${name}`]
      const lab = runSweep(argv)
      await lab.stderrHas('trial 1:')
      t.equal(ourProcesses(cut).length, 2, 'our agent and the API')
      return { lab, out: `${folder}/${name}` }
    }

    await t.test('ssh dies: nothing runs there, the run says so and goes on by --resume', async (t) => {
      const { lab, out } = await start('master')
      process.kill(masterOf(lab.child.pid), 'SIGKILL')
      await untilNothingRuns(cut)
      const { code, stderr } = await lab.ended
      t.equal(code, 1)
      t.match(stderr, /no trustworthy answer: the run broke off: the line to root@\S+ was lost/)
      const resumed = await startLab(['sweep', '--resume', out, '--database-url', other.href]).ended
      t.equal(resumed.code, 0, resumed.stderr)
      t.equal(readTrials(out).length, 3)
    })

    await t.test('the lab is killed: nothing runs there, and no ssh here', async (t) => {
      const { lab } = await start('killed')
      const master = masterOf(lab.child.pid)
      lab.child.kill('SIGKILL')
      await lab.ended
      await untilNothingRuns(cut)
      while (fs.existsSync(`/proc/${master}`)) await new Promise((resolve) => setTimeout(resolve, 20))
      t.strictSame(fs.readdirSync(`${cut.folder}/tmp`), [])
    })

    await t.test('Ctrl-C: in a moment', async (t) => {
      const { lab, out } = await start('interrupted')
      const at_ms = performance.now()
      lab.child.kill('SIGINT')
      const { code, stderr } = await lab.ended
      t.equal(code, 130, stderr)
      t.ok(performance.now() - at_ms < 3000)
      t.match(readRun(out), { interrupted: true, capacity: { low_rps: 100 } })
      t.strictSame(ourProcesses(cut), [])
    })

    await t.test('the wire is pulled out: each side notices by itself', async (t) => {
      const { lab } = await start('wire')
      await cut.wire('down')
      await untilNothingRuns(cut)
      const { code, stderr } = await lab.ended
      t.equal(code, 1)
      t.match(stderr, /the run broke off: the line to root@\S+ was lost/)
    })
  })
})

/** The ssh of a lab that holds the connection. @param {number | undefined} lab */
function masterOf(lab) {
  const { stdout } = spawnSync('pgrep', ['-P', String(lab), '-f', 'ControlPersist=no'], { encoding: 'utf8' })
  return Number(stdout.trim().split('\n')[0])
}
