import t from 'tap'
import { madeUp, PLAN, SIZE, textOf } from '../../../../support/made-up/balance.js'

t.test('who is not seen to leave or to come back is not said to have taken so long', async (t) => {
  const plan = { ...PLAN, sizes: { ...PLAN.sizes, failing: { ...SIZE, duration_s: 6 } } }
  const records = madeUp({
    'round-robin': { p50: 300, errors: 100 },
    adaptive: { p50: 150, errors: 30, leave_bins: 4 },
    'haproxy-leastconn': { p50: 150, errors: 100, leave_bins: 1, away: true },
  })
  const text = textOf(plan, records)
  t.match(text, /\| round-robin +\| +more than 2\.0 s in 6 of 6 trials \| +never dropped \|/)
  t.match(text, /\| haproxy-leastconn +\| +0\.1 \[0\.1–0\.1\] s \| +more than 3\.0 s in 6 of 6 trials \|/)
  const own = (/** @type {any[]} */ some) => {
    return some.filter(({ cell }) => cell.part === 'failing' && cell.strategy === 'adaptive')
  }
  const [first, ...rest] = own(records)
  const stay = own(madeUp({ adaptive: { p50: 150, errors: 30 } }, 1))
  t.strictSame(first.at, stay[0].at)
  t.match(textOf(plan, [...stay, ...rest]), /0\.4 \[0\.4–2\.0\] s; more than 2\.0 s in 1 of 6 trials/)
})

t.test('HAProxy is compared with adaptive, block by block', async (t) => {
  const records = madeUp({ adaptive: { p50: 150, errors: 0 }, 'haproxy-retry': { p50: 100, errors: 0 } })
  const ratio = String.raw`0\.6\d+x \[0\.6\d+–0\.\d+\]`
  t.match(textOf(PLAN, records), new RegExp(`\\| haproxy-retry, over uneven endpoints +\\| +${ratio} \\|`))
})

t.test('each published claim stands beside what was computed here, and a dash where nothing was', async (t) => {
  const records = madeUp({ 'round-robin': { p50: 200, errors: 200 }, adaptive: { p50: 100, errors: 0 } })
  const measured = textOf(PLAN, records)
  t.match(measured, /\| claim +\| +published \| by its figures \| measured: uneven \|/)
  t.match(measured, /\| a request takes less by +\| +18\.0 % \| +15\.6 % \| +[45]\d\.\d % \|/)
  t.match(measured, /\| requests saved +\| 10 % to 30 % \| +– \| +(19|20)\.\d % \|/)
  t.match(measured, /\| error of the T-Digest +\| +3 % \| +– \| +– \|/)
  const figures = { p25_ms: 1, p50_ms: 1, p75_ms: 1, p95_ms: 1, mean_ms: 100, error_ratio: 0 }
  const worlds = [
    {
      ...{ world: 'uneven', about: 'as here', workers: 1, gains: figures },
      ...{ round_robin: figures, adaptive: { ...figures, digest_error_ratio: 0.0002 } },
    },
  ]
  const few = { samples: 20, draws: 2000, all_lower_ratio: 0.05, as_published_ratio: 0, median_error_ratio: 0.11 }
  const simulated = textOf(PLAN, [], { worlds, few })
  t.match(simulated, /\| error of the T-Digest +\| +3 % \| +– \| +0\.02 % \|/)
  t.match(simulated, /\| error of a median of 20 samples +\| +3 % \| +11\.0 % \| +– \|/)
  t.match(simulated, /the small sample is what makes such a median uncertain, not the digest/)
  t.notMatch(textOf(PLAN, []), 'published claims')
})
