import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { BY_TURNS, nameOf } from '../../../tuning/experiments/ablate/stages.js'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test(
  'ablate: each variant is in force, and stores a row for each 201 unless it is without the database',
  async (t) => {
    const { url } = await newDatabase(t)
    const flags = ['--stages', 'database', '--consumers', 'paced,client', '--rate', '1000', '--turns', '6']
    const short = ['--blocks', '1', '--duration', '100ms']
    const { out, run, trials, stdout } = await smoke(t, 'ablate', [...flags, ...short], { databaseUrl: url })
    t.match(stdout, /CPU of the API per request/)
    t.match(stdout, /\| the rest +\|/)
    const report = readFileSync(path.join(out, 'report.md'), 'utf8')
    t.match(report, /\| client +\| count \|/)
    t.match(report, /aptos-node Firehose Throughput Experiment/)
    t.strictSame([...new Set(trials.map(({ load }) => load.driver))].sort(), ['client', 'paced'])
    const turns = trials.filter(({ cell }) => cell.variant === BY_TURNS)
    t.strictSame([...new Set(turns.map(({ settings }) => settings.WITHOUT))], [BY_TURNS])
    const lengths = turns.flatMap(({ probes }) =>
      probes.target.rounds.map((/** @type {unknown[]} */ round) => round.length),
    )
    t.strictSame([...new Set(lengths)], [4], 'the whole three times')
    const others = trials.filter(({ cell }) => cell.variant !== BY_TURNS)
    t.ok(new Set(others.map(({ cell }) => cell.variant)).size > 1)
    for (const { cell, settings, traffic } of others) {
      const without = settings.WITHOUT.split(',').filter(Boolean)
      t.equal(nameOf(without), cell.variant, 'read back')
      t.equal(traffic.rows_stored, without.includes('database') ? null : traffic.ok)
    }
    t.ok(run.budgets.cpu.whole.pairs > 0)
    const doses = trials.flatMap(({ at, doses }) => (at.phase === 'proof' ? doses : []))
    const slowed = new Set(doses.flatMap(({ suspect, taken_ratio }) => (taken_ratio > 0 ? suspect : [])))
    t.strictSame(run.elasticities.map((/** @type {any} */ { suspect }) => suspect).sort(), [...slowed].sort())
    t.match(report, /\| database \| .* \| +none \| +– \|/)
    t.ok(slowed.size > 2, 'the service, Postgres and the generator')
  },
)
