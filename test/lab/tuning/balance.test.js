import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'

t.test('balance, from end to end', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--quick',
    '--only',
    'crowded',
    '--blocks',
    '1',
    '--duration',
    '1s',
    '--endpoints',
    '4',
    '--slots',
    '8',
    '--out',
    out,
    '--json',
  ]
  const { status, stdout, stderr } = await runVerb('balance', flags)
  t.equal(status, 0, stderr)
  const answer = JSON.parse(stdout)
  t.match(answer, {
    verb: 'balance',
    crowded: [{ strategy: 'round-robin' }, { strategy: 'adaptive' }],
    simulation: null,
  })
  for (const { cell, traffic, probes } of readTrials(out)) {
    t.match(probes.target, { bin_ms: 100, names: ['cached', 'slow', 'erring', 'recovering'] }, cell)
    const counted = probes.target.endpoints.flatMap((/** @type {any} */ { requests }) => requests)
    const sum = counted.reduce((/** @type {number} */ total, /** @type {number} */ count) => total + count, 0)
    t.ok(Math.abs(sum - traffic.sent) <= 0.1 * traffic.sent, `${cell}: ${sum} of ${traffic.sent} requests were counted`)
    t.ok(traffic.latency_ms.p25 >= traffic.latency_ms.min)
  }
  const [roundRobin] = answer.crowded
  t.ok(roundRobin.queued_ratio > 0 && roundRobin.queued_ratio < 0.9, `${roundRobin.queued_ratio} queued`)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /## Shares over time: crowded/)
  t.match(report, /- (The balancer ran on core \d+ alone, |Nothing was pinned: this system)/)
  t.match(report, /"Benchmarks" \(zeus-fyi\)/)
})

t.test('without HAProxy the run goes on, and says what installs it', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = ['--only', 'simulation', '--samples', '500', '--haproxy', '/nowhere/haproxy', '--out', out]
  const { status, stdout, stderr } = await runVerb('balance', flags)
  t.equal(status, 0, stderr)
  t.match(stderr, /expected haproxy at \/nowhere\/haproxy, found none; sudo apt-get install haproxy installs it/)
  t.match(stdout, /published/)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /published .*478 ms -> 384 ms, 0.80x/)
  t.match(readRun(out), { plan: { haproxy: null, samples: 500 }, simulation: { worlds: Array } })
})
