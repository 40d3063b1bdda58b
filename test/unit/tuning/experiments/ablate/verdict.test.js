import t from 'tap'
import { budgetOf, CURRENCIES } from '../../../../../tuning/experiments/ablate/budget.js'
import { conclusionOf } from '../../../../../tuning/experiments/ablate/budget-report.js'
import { publishedVerdict } from '../../../../../tuning/experiments/ablate/published.js'
import { closedOf, speedUp } from '../../../../../tuning/experiments/ablate/speeds.js'
import { nameOf } from '../../../../../tuning/experiments/ablate/stages.js'
import { copyOf, PLAN, runOf, THREE, textOf } from '../../../../support/made-up/ablate.js'
import { COSTS_US, SUM_US } from '../../../../support/simulated/stages.js'

/** @param {any} plan @param {any[]} records */
const published = (plan, records) => publishedVerdict(closedOf(plan, records))

t.test('the conclusion names what is worth changing, what is not, and what became of the published one', async (t) => {
  const records = runOf({})
  const sentence = conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu))
  t.match(sentence, /^CPU of the API per request: \d+ us. Worth changing: database \([\d.]+ \[/)
  t.match(sentence, /not worth changing: .*commit/)
  t.match(sentence, /the rest \(such as Node's own HTTP, .*\) takes \d+ us \(\d+ %\)\.$/)
  const only = (/** @type {string[]} */ sentences) => {
    t.equal(sentences.length, 1)
    return sentences[0]
  }
  const enough = { ...PLAN, blocks: 12 }
  t.match(only(published(enough, runOf({ plan: enough }))), /Not so here: .*database \(autocannon: 1\.\d\dx/)
  const alone = { ...PLAN, stages: ['validate', 'commit'] }
  t.match(only(published(alone, runOf({ plan: alone, noise: 0.01 }))), /The same here/)
  t.match(
    only(published(PLAN, runOf({ plan: { ...PLAN, blocks: 1 } }))),
    /Here no removal certainly raises the throughput by more than 5 %, but not all are settled/,
  )
  t.strictSame(published({ ...PLAN, consumers: ['paced'] }, records), [])
  t.match(conclusionOf(budgetOf(PLAN, [], CURRENCIES.cpu)), /nothing was measured/)
  const truth = SUM_US / (SUM_US - COSTS_US.database)
  const plan = { ...PLAN, consumers: ['autocannon'] }
  const ups = Array.from({ length: 12 }, (_, seed) =>
    speedUp(runOf({ plan, seed }), 'autocannon', nameOf(['database'])),
  )
  const holding = ups.filter(({ low, high }) => low < truth && truth < high)
  t.ok(holding.length >= 10, `${holding.length} of 12`)
  t.ok(ups.every(({ ratio }) => Math.abs(ratio / truth - 1) < 0.1))
})

t.test('a service that had to wait for its core is said to have waited', async (t) => {
  const records = copyOf(runOf({}))
  t.notMatch(textOf(PLAN, records), 'waited for its core')
  for (const { probes } of records) probes.api.run_delay_ratio = 0.5
  t.match(textOf(PLAN, records), 'the API waited for its core 50 % of the time')
})

t.test('where a generator was full, nothing is said of stages', async (t) => {
  const plan = { ...THREE, blocks: 12 }
  const full = (/** @type {string} */ consumer, /** @type {(cell: string) => boolean} */ when = () => true) => {
    return runOf({ plan }).map((record) => {
      const cpu_core_ratio = record.load.driver === consumer && when(record.cell.variant) ? 0.97 : 0.5
      return { ...record, probes: { ...record.probes, generator: { cpu_core_ratio } } }
    })
  }
  const [verdict] = published(plan, full('client'))
  t.match(verdict, /Not so here: .*database \(autocannon/)
  t.notMatch(verdict, 'client')
  const alone = { ...plan, consumers: ['client'] }
  t.match(published(alone, full('client'))[0], /Here the generator was the limit, so nothing can be said about that/)
  const fast = full('client', (cell) => cell === 'without database')
  t.notMatch(published(alone, fast)[0], 'database')
  t.match(textOf(alone, fast), /\| database +\| +the generator was the limit \|/)
  t.match(textOf(plan, full('client')), /\| log +\| +1\.\d\dx .*\| +the generator was the limit \|/)
})

t.test('where our conclusion differs from the published one, a sentence says why', async (t) => {
  const usual = { consumer: 'autocannon', without: ['commit'], pairs: 12, tied: false, isLimited: false }
  /** @param {object} speed @param {any[]} [elasticities] @param {object[]} [others] speeds */
  const verdictOn = (speed, elasticities, others = []) => {
    const closed = /** @type {any} */ ([{ consumer: 'autocannon', speeds: [{ ...usual, ...speed }, ...others] }])
    return publishedVerdict(closed, elasticities).join()
  }
  const postgres = { suspect: 'Postgres', resource: 'postgres-cpu', elasticity: 1, low: 0.9, high: 1.1, pairs: 6 }
  const faster = { ratio: 1.66, low: 1.5, high: 1.8 }
  const differs =
    /^Published: .*\. Not so here: throughput rises without commit \(autocannon: 1\.66x \[1\.50–1\.80\]\)\. Why they differ: .* the response comes sooner\./
  t.match(verdictOn(faster), differs)
  const proved = verdictOn(faster, [postgres])
  t.match(proved, differs)
  t.match(proved, /sooner\. What matters most .* by the proof: slowing Postgres by 10 % costs 10 % \[9–11\]\.$/)
  for (const low of [null, -0.1]) t.notMatch(verdictOn(faster, [{ ...postgres, low }]), 'by the proof')
  const same = { ratio: 1, low: 0.98, high: 1.02, tied: true }
  t.match(verdictOn(same), /The same here: .* by 5 % or more\.$/)
  const limited = { ...usual, without: ['database'], ratio: 4, low: 3, high: 5, isLimited: true }
  const except = verdictOn(same, [], [limited])
  t.match(except, /or more, except perhaps that of database: there, the generator was the limit\.$/)
  for (const high of [1.6, Number.POSITIVE_INFINITY]) {
    const noise = verdictOn({ ratio: 1.26, low: 0.95, high, tied: true })
    t.match(noise, /Here no removal certainly raises .* not all are settled/)
  }
})
