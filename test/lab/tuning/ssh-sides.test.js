import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import * as VERBS from '../../../tuning/verbs.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { startPostgres } from '../../support/postgres-host.js'
import { conserves, smoke } from '../../support/smoke.js'
import { ourProcesses, startBox } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'

const SHORT = ['--quick', '--blocks', '2', '--duration', '300ms']

t.test('sides on hosts of their own', { skip: withoutHosts() ?? withoutSshd() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const single = path.join(folder, 'single.env')
  fs.writeFileSync(single, 'INSERT_MODE=single\n')
  const hosts = await openHosts(t, ['box', 'database'])
  const [box, { url }] = await Promise.all([startBox(hosts.box), startPostgres(hosts.database)])
  const config = ['--ssh-config', box.configFile]

  await t.test('ramp: A there and B here; cut off, and resumed', async (t) => {
    const sides = ['--ssh-a', box.user, ...config, '--b', single]
    const load = ['--driver', 'client', '--max-workers', '4', '--latency-ceiling', '10s', ...SHORT]
    const { out, run, trials } = await smoke(t, 'ramp', [...sides, ...load], { databaseUrl: url })
    t.strictSame([...new Set(trials.map(({ cell, target }) => `${cell.side} ${target.kind}`))].sort(), [
      'a ssh',
      'b local',
    ])
    const [a, b] = ['a', 'b'].map((side) => trials.find(({ cell }) => cell.side === side))
    t.match(a, { settings: { HOST: box.address, INSERT_MODE: 'batched' }, target: { url: /:3000\/user$/ } })
    t.match(b, { settings: { HOST: '127.0.0.1', INSERT_MODE: 'single' } })
    for (const { probes, traffic } of [a, b]) {
      t.ok(probes.api.cpu_s > 0, 'the CPU of its process is seen')
      t.ok(Object.keys(probes.kernel.cores).length > 0, 'and that of its machine')
      t.ok(traffic.rows_stored > 0, 'and its rows are in the one database')
    }
    t.equal('disk' in a.probes.kernel, 'disk' in b.probes.kernel)
    t.ok('here' in a.probes && !('here' in b.probes))
    t.strictSame(Object.keys(run.target_machines), ['a'])
    t.match(run.target_machines.a, { name: box.user, node: process.version, cores: Number, memory_bytes: Number })
    t.match(run.pinning, /^A ran on .*root@\S+ .*; B ran on (core \S+ of )?this machine/)
    const report = fs.readFileSync(`${out}/report.md`, 'utf8')
    t.match(report, /A \(the API on root@\S+\): /)
    t.match(report, /B \(\S+single\.env\): /)
    t.match(report, /root@\S+, on which A ran: /)
    t.strictSame(ourProcesses(box), [])
  })

  await t.test('compare: two sides on one host share its connection', async (t) => {
    const out = `${folder}/compare`
    const sides = ['--ssh-a', box.user, '--ssh-b', box.user, ...config, '--b', single, '--database-url', url]
    const load = ['--concurrency', '1', '--per-worker-rps', '100000', ...SHORT, '--out', out]
    const { code, stderr } = await runHere(['compare', ...sides, ...load], { verbs: VERBS })
    t.equal(code, 1, `one block has no interval: ${stderr}`)
    t.equal(stderr.match(/connecting to /g)?.length, 1, stderr)
    const trials = readTrials(out)
    conserves(t, trials)
    const modes = trials.map(({ cell, target, settings }) => `${cell.side} ${target.kind} ${settings.INSERT_MODE}`)
    t.strictSame([...new Set(modes)].sort(), ['a ssh batched', 'b ssh single'])
    t.strictSame(Object.keys(readRun(out).target_machines), ['a', 'b'])
    t.match(fs.readFileSync(`${out}/report.md`, 'utf8'), /root@\S+, on which A and B ran: /)
    t.strictSame(ourProcesses(box), [])
    t.strictSame(fs.readdirSync(`${box.folder}/tmp`), [], 'and no folder is left there')
  })

  await t.test('a host that cannot be reached is one line that names its flag; the other one is let go', async (t) => {
    const sides = ['--ssh-a', box.user, '--ssh-b', 'root@nowhere.invalid', ...config, '--database-url', url]
    const { code, stderr } = await runHere(['ramp', ...sides, '--out', `${folder}/nowhere`], { verbs: VERBS })
    t.equal(code, 2)
    t.match(stderr, /redline: --ssh-b root@nowhere\.invalid: expected a host that can be found, got: [^\n]+\n$/)
    t.notOk(fs.existsSync(`${folder}/nowhere`))
    t.strictSame(ourProcesses(box), [])
  })
})
