import t from 'tap'
import { rampReport } from '../../../../../tuning/experiments/ramp/report.js'
import { findingsOf, PLAN, runOf, service, textOf } from './services.js'

t.test('a generator that is full is not said to be so at a ceiling that was not reached', async (t) => {
  const plan = { ...PLAN, blocks: 2, most_workers: 50 }
  const busy = (/** @type {any} */ load) => ({
    ...service(1e6, 1)(load),
    generator: load.connections === 50 ? 0.97 : 0.2,
  })
  const full = (/** @type {any} */ load) => ({ ...service(100, 1)(load), generator: 0.97 })
  const records = runOf(plan, { a: busy, b: full })
  // What counts is the number of workers, not which trial was the last.
  for (const some of [records, records.toSorted((one, other) => other.load.connections - one.load.connections)]) {
    const text = textOf(findingsOf(plan, some))
    t.match(
      text,
      /^Warning: autocannon used or waited for 97 % .* may use, with the most workers that were tried on A: its own/m,
    )
    t.match(text, /^Warning: autocannon used or waited for 97 % .* at the ceiling of B: its own/m)
    t.notMatch(text, 'at the ceiling of A')
  }
})

t.test('the vertical lines are those of the two sides, whatever else was climbed', async (t) => {
  const plan = { ...PLAN, blocks: 2, drivers: ['autocannon', 'wrk'] }
  const findings = findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) }, { noise: 0 }))
  const picture = /** @type {any} */ (rampReport(findings).find((block) => block.kind === 'picture'))?.picture
  t.strictSame(
    picture.form.marks.flatMap((/** @type {any} */ { axis, at, label }) => (axis === 'x' ? [[label, at]] : [])),
    [
      ['A', 40],
      ['B', 80],
    ],
  )
})
