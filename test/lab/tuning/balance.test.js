import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { findHaproxy, haproxyConfig } from '../../../tuning/knobs/haproxy.js'
import { readRun, runVerb, temporaryFolder } from '../../support/lab.js'
import { total } from '../../support/mixed.js'
import { smoke } from '../../support/smoke.js'

const program = findHaproxy()?.program
const NO_HAPROXY = program ? false : 'this needs haproxy: apt-get install haproxy'

t.test('balance: the endpoints got what the generator sent, each request once', async (t) => {
  const flags = ['--quick', '--only', 'crowded', '--blocks', '1', '--duration', '1s']
  const { out, run, trials } = await smoke(t, 'balance', flags)
  t.strictSame(
    run.crowded.map((/** @type {any} */ { strategy }) => strategy),
    ['round-robin', 'adaptive', ...(program ? ['haproxy-leastconn'] : [])],
  )
  t.equal(run.simulation, null)
  t.ok(trials.length > 0)
  for (const { cell, traffic, probes } of trials) {
    const { bin_ms, names, endpoints } = probes.target
    const { strategy } = cell
    t.strictSame([bin_ms, names], [100, ['cached', 'cold', 'half-cached', 'slow', 'erring', 'recovering']], strategy)
    const counted = (/** @type {'requests' | 'errors' | 'queued'} */ name) => {
      return total(endpoints.map((/** @type {any} */ endpoint) => total(endpoint[name])))
    }
    t.equal(counted('requests'), traffic.sent, strategy)
    t.equal(counted('errors'), total(traffic.status) - traffic.ok, strategy)
    t.ok(counted('queued') <= traffic.sent, strategy)
  }
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /Latency over the same endpoints at a higher rate/)
  t.match(report, /- (The balancer ran on core \d+ alone, |Nothing was pinned: this system)/)
  t.match(report, /"Benchmarks" \(zeus-fyi\)/)
})

t.test('balance: a simulation alone is reported beside the published figures', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = ['--only', 'simulation', '--samples', '500', '--out', out]
  const { status, stdout, stderr } = await runVerb('balance', flags)
  t.equal(status, 0, stderr)
  t.match(stdout, /published/)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /published .*478 ms -> 384 ms, 0.80x/)
  const { plan, simulation } = readRun(out)
  t.equal(plan.samples, 500)
  t.not(simulation.worlds.length, 0)
})

t.test('HAProxy takes the configuration that is written for it', { skip: NO_HAPROXY }, async (t) => {
  const servers = [{ name: 'one', port: 8001 }]
  const file = path.join(temporaryFolder(t), 'haproxy.cfg')
  for (const balance of ['leastconn', 'random(2)']) {
    writeFileSync(file, haproxyConfig({ port: 8000, balance, servers, watched: true, retries: true }))
    const { status, stderr } = spawnSync(String(program), ['-c', '-f', file], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
  }
})
