import t from 'tap'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { startPostgres } from '../../support/postgres-host.js'
import { ourProcesses, startBox } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'

t.test(
  'what tuning/ does with the API on another host',
  { skip: withoutHosts() ?? withoutSshd() ?? false },
  async (t) => {
    const folder = temporaryFolder(t)
    const hosts = await openHosts(t, ['box', 'strict', 'database'])
    const [box, strict, { url }] = await Promise.all([
      startBox(hosts.box),
      startBox(hosts.strict, { settings: ['AllowStreamLocalForwarding no'] }),
      startPostgres(hosts.database),
    ])
    const there = [...box.flags, '--database-url', url]

    await t.test('ablate: stages are taken away there', async (t) => {
      const out = `${folder}/ablate`
      const short = ['--stages', 'validate', '--consumers', 'paced', '--rate', '500', '--rounds', '2', '--out', out]
      const { status, stderr } = await runVerb('ablate', [...there, ...short])
      t.ok(readTrials(out).length > 0, stderr)
      for (const { target, settings } of readTrials(out)) {
        t.match({ target, settings }, { target: { kind: 'ssh' }, settings: { HOST: box.address, WITHOUT: /./ } })
      }
      t.match(readRun(out).not_applied, [], 'each was seen to be away')
      t.ok(status === 0 || status === 1, 'two rounds are too few for an answer')
      t.strictSame(ourProcesses(box), [])
      t.equal(await box.run(['ls', '/tmp']), '', 'and no socket or token is left')
    })

    await t.test('ablate: where sshd forwards no socket, it is said in one line', async (t) => {
      const short = ['--stages', 'validate', '--consumers', 'paced', '--rounds', '2', '--out', `${folder}/strict`]
      const { status, stderr } = await runVerb('ablate', [...strict.flags, '--database-url', url, ...short])
      t.equal(status, 2)
      t.match(stderr, /redline: expected an answer .* AllowStreamLocalForwarding yes\n$/)
      t.strictSame(ourProcesses(strict), [])
    })

    await t.test('faults: what is planted there is named, and what cannot be is left out', async (t) => {
      const out = `${folder}/faults`
      const only = ['--only', 'few-files,limiter,noisy-neighbours', '--duration', '1s', '--out', out]
      const { stderr } = await runVerb('faults', [...there, ...only])
      const trials = readTrials(out)
      t.notOk(trials.some(({ cell }) => /noisy/.test(cell)))
      const limits = new Map(trials.map(({ cell, limit }) => [cell, limit.resource]))
      t.equal(limits.get('few-files'), 'nofile', stderr)
      t.equal(limits.get('limiter'), 'rate-limit', stderr)
      t.strictSame(ourProcesses(box), [])
    })
  },
)
