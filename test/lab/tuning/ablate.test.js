import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { BY_TURNS, cellOf, withoutOf } from '../../../tuning/ablate/stages.js'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'

t.test('a run from end to end', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--stages',
    'database',
    '--consumers',
    'paced,client',
    '--rounds',
    '6',
    '--blocks',
    '1',
    '--duration',
    '100ms',
  ]
  const { status, stdout, stderr } = await runVerb('ablate', [...flags, '--rate', '1000', '--out', out])
  t.equal(status, 0, stderr)
  t.match(stdout, /CPU of the API per request/)
  t.match(stdout, /\| the rest +\|/)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /\| client +\| count \|/)
  t.match(report, /aptos-node Firehose Throughput Experiment/)
  const trials = readTrials(out)
  t.strictSame([...new Set(trials.map(({ load }) => load.driver))].sort(), ['client', 'paced'])
  for (const { cell, settings, traffic, probes } of trials) {
    if (cell === BY_TURNS) {
      t.equal(settings.WITHOUT, BY_TURNS)
      for (const round of probes.target.rounds) t.equal(round.length, 4, 'the whole three times')
      continue
    }
    t.equal(cellOf(settings.WITHOUT.split(',').filter(Boolean)), cell, 'read back')
    t.equal(traffic.rows_stored, withoutOf(cell).includes('database') ? null : traffic.ok)
  }
  const { whole, lines } = readRun(out).budgets.cpu
  t.ok(whole.pairs >= 4, `${whole.pairs} rounds`)
  t.ok(lines[0].cost.estimate > 0 && lines[0].cost.estimate < whole.estimate)
})
