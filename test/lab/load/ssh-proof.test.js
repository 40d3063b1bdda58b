import fs from 'node:fs'
import t from 'tap'
import { nextOfProof } from '../../../load/capacity/proving.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { elasticitiesOf } from '../../../load/verdict/proof.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { startPostgres } from '../../support/postgres-host.js'
import { ourProcesses, startBox, untilNothingRuns } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'
import { until } from '../../support/until.js'

/** @import { Experiment } from '../../../load/run/experiment.js' */

const SERVICE = 'core 0 (the service)'
const GENERATOR = 'the generator'
/** A load that any machine bears, so that no trial is invalid. */
const LOAD = { driver: 'paced', loop: /** @type {const} */ ('open'), rate_rps: 200, connections: 100 }
/** The fewest for which an interval is finite. */
const BLOCKS = 6

/**
 * Whether each suspect has the pairs. A slice in which the machine stood still makes none: of its dose, too little was taken.
 * @param {any[]} proof
 */
function hasPairs(proof) {
  const pairs = new Map(elasticitiesOf(proof).map((one) => [one.suspect, one.pairs]))
  return [SERVICE, GENERATOR].every((suspect) => (pairs.get(suspect) ?? 0) >= BLOCKS)
}

/** A sweep whose search is one trial, so that the proof begins at once. @type {any} */
const proofOnly = /** @satisfies {Experiment<any>} */ ({
  ...sweep,
  design(plan, records) {
    const [seen, ...proof] = records
    if (seen) return hasPairs(proof) ? null : nextOfProof(plan, records, { seen, load: LOAD })
    const at = { phase: 'search', purpose: 'bracket' }
    return { at, cell: null, left_s: 1, load: { ...LOAD, warmup_s: 0.3, duration_s: 1, times_work: true } }
  },
})

t.test('the proof of a service on another host', { skip: withoutHosts() ?? withoutSshd() ?? false }, async (t) => {
  const folder = temporaryFolder(t)
  const hosts = await openHosts(t, ['box', 'database'])
  const [box, { url }] = await Promise.all([startBox(hosts.box), startPostgres(hosts.database)])
  const argv = ['sweep', ...box.flags, '--database-url', url, '--slo-p99', '5s', '--warmup', '300ms']

  await t.test('the service is slowed there, the generator here; the report says what was not slowed', async (t) => {
    const out = `${folder}/run`
    const { stderr } = await runHere([...argv, '--out', out], { verbs: { sweep: proofOnly } })
    const [seen, ...proof] = readTrials(out)
    t.ok(seen.work_ms > 0, 'the speed of its core')
    t.ok(proof.length >= BLOCKS, stderr)
    for (const { target, doses } of proof) {
      t.equal(target.kind, 'ssh')
      const suspects = doses.map((/** @type {any} */ { suspect }) => suspect)
      t.strictSame([...new Set(suspects)].sort(), [SERVICE, GENERATOR])
      t.equal(doses.length, 4)
      for (const { share, taken_ratio } of doses) {
        if (share === 0) t.equal(taken_ratio, 0)
        else t.ok(taken_ratio > 0 && taken_ratio < 1, `${taken_ratio} taken`)
      }
    }
    // Each of them by a slice of whose dose at least half was taken.
    t.ok(hasPairs(proof), JSON.stringify(elasticitiesOf(proof)))
    t.strictSame(readRun(out).elasticities, elasticitiesOf(proof))
    const report = fs.readFileSync(`${out}/report.md`, 'utf8')
    t.match(report, /slowing core 0 \(the service\) by 10 % costs/)
    t.match(report, /Not slowed: Postgres, whose processes this machine cannot see\./)
    t.strictSame(ourProcesses(box), [])
  })

  await t.test('Ctrl-C in the middle of it: nothing runs there', async (t) => {
    const interrupted = new AbortController()
    const options = { verbs: { sweep: proofOnly }, signal: interrupted.signal }
    const running = runHere([...argv, '--out', `${folder}/interrupted`], options)
    const isSlowing = () => ourProcesses(box).some(({ command }) => /helper\.js/.test(command))
    await until('a helper there', isSlowing, 60_000)
    interrupted.abort()
    t.equal((await running).code, 130)
    await untilNothingRuns(box)
  })
})
