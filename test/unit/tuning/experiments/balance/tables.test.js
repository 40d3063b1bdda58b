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
