import t from 'tap'
import { budgetOf, CURRENCIES } from '../../../../../tuning/experiments/ablate/budget.js'
import { conclusionOf } from '../../../../../tuning/experiments/ablate/budget-report.js'
import { closedOf, publishedVerdict, speedUp } from '../../../../../tuning/experiments/ablate/speeds.js'
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
  t.match(only(published(PLAN, records)), /Not so here: .*database \(autocannon: 1\.\d\dx/)
  const alone = { ...PLAN, stages: ['validate', 'commit'] }
  t.match(only(published(alone, runOf({ plan: alone, noise: 0.01 }))), /The same here/)
  t.match(
    only(published(PLAN, runOf({ plan: { ...PLAN, blocks: 1 } }))),
    /Here no stage certainly does, but not all are settled/,
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
  const full = (/** @type {string} */ consumer, /** @type {(cell: string) => boolean} */ when = () => true) => {
    return runOf({ plan: THREE }).map((record) => {
      const cpu_core_ratio = record.load.driver === consumer && when(record.cell.variant) ? 0.97 : 0.5
      return { ...record, probes: { ...record.probes, generator: { cpu_core_ratio } } }
    })
  }
  const [verdict] = published(THREE, full('client'))
  t.match(verdict, /Not so here: .*database \(autocannon/)
  t.notMatch(verdict, 'client')
  const alone = { ...THREE, consumers: ['client'] }
  t.match(published(alone, full('client'))[0], /Here the generator was the limit, so nothing can be said about that/)
  const fast = full('client', (cell) => cell === 'without database')
  t.notMatch(published(alone, fast)[0], 'database')
  t.match(textOf(alone, fast), /\| database +\| +the generator was the limit \|/)
  t.match(textOf(THREE, full('client')), /\| log +\| +1\.\d\dx .*\| +the generator was the limit \|/)
})
