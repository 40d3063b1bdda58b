import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { costPerMillion, costRatio, PRICE, perHour, STORAGE } from '../../../../../tuning/experiments/ramp/cost.js'
import { PUBLISHED } from '../../../../../tuning/experiments/ramp/published.js'
import { rampReport } from '../../../../../tuning/experiments/ramp/report.js'
import { agreementSentence } from '../../../../../tuning/experiments/ramp/sentences.js'
import { generatorShare } from '../../../../../tuning/stats/sound.js'
import { findingsOf, PLAN, price, runOf, service, textOf } from './services.js'

t.test('without noise the ratio is exact: eight of 50/s do the work of one of 400/s', async (t) => {
  const records = runOf(PLAN, { a: service(50, 20), b: service(400, 20) }, { noise: 0 })
  const { work, series } = findingsOf(PLAN, records).kept.ramp
  t.strictSame(
    series.map((/** @type {any} */ { rps, workers }) =>
      [rps.estimate, workers].map((value) => Number(value.toFixed(6))),
    ),
    [
      [50, 10],
      [400, 80],
    ],
  )
  t.strictSame(
    [work?.low, work?.ratio, work?.high].map((value) => Number(value?.toFixed(6))),
    [8, 8, 8],
  )
})

t.test('with noise the interval of the ratio holds the true value', async (t) => {
  const found = Array.from({ length: 16 }, (_, seed) => {
    const plan = { ...PLAN, mix: { ...PLAN.mix, seed } }
    return findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) })).kept.ramp
  })
  const errors = found.map(({ work }) => Math.abs(Math.log(Number(work?.ratio) / 2)))
  t.ok(Math.max(...errors) < Math.log(1.1), `${Math.max(...errors)}`)
  const covered = found.filter(({ work }) => work && work.low <= 2 && work.high >= 2)
  t.ok(covered.length >= 14, `${covered.length} of 16 intervals hold 2`)
  for (const { series } of found) {
    const [a, b] = series
    t.ok(a.rps.low < 206 && a.rps.high > 194 && Math.abs(b.workers - 80) < 8, JSON.stringify(series))
  }
})

t.test('what is not reached is said, and nothing is made of it', async (t) => {
  const plan = { ...PLAN, blocks: 2, most_workers: 50, prices: { a: price(1), b: price(1) } }
  const records = runOf(plan, { a: service(1e6, 1), b: service(100, 1) })
  const findings = findingsOf(plan, records)
  const text = textOf(findings)
  t.match(
    text,
    /A \(http:\/\/a\/\): a mean latency of 200 ms not reached at a concurrency of 50, the most allowed \(--max-workers\)/,
  )
  t.match(text, /It is not known how many of A do the work of one B: no block has a rate at the ceiling for both/)
  t.match(findings.cost, { a: null, b_to_a: null })
  t.ok(findings.cost.b)
  const slow = findingsOf(plan, runOf(plan, { a: service(1e6, 500), b: service(100, 1) }))
  t.match(textOf(slow), /above a mean latency of 200 ms, or refusing requests, even at a concurrency of 1/)
  const refusing = (/** @type {any} */ load) => ({ ...service(1000, 1)(load), fails: load.connections > 20 })
  t.match(
    textOf(findingsOf(plan, runOf(plan, { a: refusing, b: refusing }))),
    /^A .* begins to fail requests somewhere between 16 and 2\d workers, .* with at least/,
  )
})

t.test('of a rate that is a lower bound no ratio and no cost is made', async (t) => {
  const plan = { ...PLAN, prices: { a: price(1), b: price(1) } }
  const full = (/** @type {any} */ load) => ({ ...service(400, 20)(load), generator: 0.97 })
  const refusing = (/** @type {any} */ load) => ({ ...service(400, 20)(load), fails: load.connections > 20 })
  const rows = /** @type {[any, RegExp][]} */ ([
    [full, /work of one B, or at what cost: autocannon was at its own limit on B, so that/],
    [refusing, /work of one B, or at what cost: B fails requests before it is at the ceiling, so that/],
  ])
  for (const [b, why] of rows) {
    const findings = findingsOf(plan, runOf(plan, { a: service(200, 20), b }))
    t.match(findings, { work: null, cost: { b: null, b_to_a: null } })
    t.ok(findings.cost.a)
    const text = textOf(findings)
    t.match(text, why)
    t.match(text, /^B .*with at least [34]\d\d /m)
    t.notMatch(text, /of A do the work of one B at the ceiling/)
  }
})

t.test('of a ceiling that less than half of the blocks met no figure is made', async (t) => {
  /** @type {(lost: number) => any} */
  const found = (lost) => {
    const invalid = (/** @type {any} */ { at, cell }) => cell.side === 'a' && at.block < lost
    const findings = findingsOf(PLAN, runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid }))
    return { findings, text: textOf(findings) }
  }
  t.match(found(2).text, /^A .* reaches a mean latency of 200 ms at .*\(reached in 6 of 8 blocks\)\.$/m)
  const { findings, text } = found(5)
  t.match(findings.kept.ramp.series[0], { blocks: 0, met: 3, tried: 8, workers: Number.NaN })
  t.match(text, /^A .*: a mean latency of 200 ms was reached in 3 of 8 blocks only, too few for a figure\.$/m)
  t.match(text, /It is not known how many of A do the work of one B: no block has a rate at the ceiling for both/)
  t.equal(findings.work.pairs, 0)
})

t.test('without a block that both sides met there is no ratio', async (t) => {
  const plan = { ...PLAN, blocks: 2 }
  const invalid = (/** @type {any} */ { at, cell }) => at.block === (cell.side === 'a' ? 0 : 1)
  const findings = findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) }, { invalid }))
  t.match(
    textOf(findings),
    /It is not known how many of A do the work of one B: no block has a rate at the ceiling for both\./,
  )
})

t.test('what B costs for the same work is a verdict only with an interval', async (t) => {
  const text = (/** @type {number} */ blocks) => {
    const plan = { ...PLAN, blocks, prices: { a: price(0.192), b: price(0.312) } }
    const records = runOf(plan, { a: service(200, 20), b: service(400, 20) }, { noise: 0.01 })
    return textOf(findingsOf(plan, records))
  }
  t.match(text(8), /The same work on B costs 0\.8\d \[0\.\d\d–0\.\d\d\]x of what it costs on A: cheaper\./)
  t.match(text(3), /The same work on B costs 0\.8\dx of what it costs on A \(too few blocks for an interval\)\./)
})

t.test('an invalid trial is repeated twice at most; its climb then ends, and the others go on', async (t) => {
  const once = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid: (_, number) => number === 3 })
  t.strictSame([once[3].at, once[3].load], [once[4].at, once[4].load])
  t.equal(findingsOf(PLAN, once).kept.ramp.series[0].blocks, 8)
  const bad = (/** @type {any} */ { at, cell }) => at.block === 0 && cell.side === 'a'
  const lost = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid: bad })
  t.equal(lost.filter(bad).length, 3)
  t.strictSame(
    findingsOf(PLAN, lost).kept.ramp.series.map((/** @type {any} */ { blocks }) => blocks),
    [7, 8],
  )
})

t.test('two drivers agree or not, as far as the blocks can tell', async (t) => {
  const plan = { ...PLAN, sides: { a: { url: 'http://a/' } }, drivers: ['autocannon', 'wrk'] }
  const check = (/** @type {any} */ other, blocks = 8) => {
    const records = runOf({ ...plan, blocks }, { 'a:autocannon': service(400, 20), 'a:wrk': other })
    const [agreement] = findingsOf(plan, records).agreements
    return agreementSentence(agreement)
  }
  t.match(
    check(service(400, 20)),
    /wrk and autocannon on A agree within 10 %: wrk's rate at the ceiling is (1\.0|0\.9)/,
  )
  const busy = (/** @type {any} */ load) => ({ ...service(200, 20)(load), generator: 0.97 })
  t.match(check(busy), /do not agree within 10 %: wrk's rate at the ceiling is 0\.\d\dx/)
  const text = textOf(findingsOf(plan, runOf(plan, { 'a:autocannon': service(400, 20), 'a:wrk': busy })))
  t.match(text, /Warning: wrk used or waited for 97 % of the cores that it may use at the ceiling of A/)
  t.match(check(service(1e6, 1)), /cannot be compared: no block has a rate at the ceiling for both/)
  const unknown = /wrk and autocannon on A may or may not agree within 10 %: .*/
  t.match(check(service(600, 20), 2), unknown, 'too few blocks')
  t.match(check(service(400, 20), 2), unknown, 'nor do they agree by luck')
  t.match(check(service(435, 20)), unknown, 'the interval holds both')
})

t.test('a generator is full by the cores that its threads can use', async (t) => {
  const share = (/** @type {number | undefined} */ threads) => {
    const probes = { generator: { cpu_core_ratio: 0.9, run_delay_ratio: 0.1, cores: '0-3' } }
    return generatorShare(/** @type {any} */ ({ traffic: { threads }, probes }))
  }
  t.equal(share(1), 1, 'wrk with a number of workers that does not divide by the cores')
  t.equal(share(2), 0.5)
  t.equal(share(8), 0.25)
  t.equal(share(undefined), 1, 'a driver that is one process')
})

t.test("the lab's own disks are those of a side only where it is here", async (t) => {
  const kernel = (/** @type {number} */ bytes) => {
    return { disk: { read_bytes: 0, written_bytes: bytes, busy_ratio: 0.5 } }
  }
  const report = (/** @type {Record<string, string>} */ kinds) => {
    const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { noise: 0 }).map((record) => {
      const { cell, traffic, probes } = record
      const bytes = traffic.completed * (cell.side === 'a' ? 1000 : 3000)
      return { ...record, target: { kind: kinds[cell.side] }, probes: { ...probes, kernel: kernel(bytes) } }
    })
    return markdownOf(rampReport(findingsOf(PLAN, records)))
  }
  const here = report({ a: 'local', b: 'local' })
  t.match(here, /\| disk, B to A.*\| +3\.00x \|/, 'by request, though B answered twice as many')
  t.match(here, /disk busy/)
  const elsewhere = report({ a: 'url', b: 'url' })
  t.match(elsewhere, /\| disk, B to A.*\| +– \|/)
  t.notMatch(elsewhere, /disk busy/)
})

t.test('the report prices a million requests, and says what leaving out an entry did to the others', async (t) => {
  const entries = ['create', 'estimate'].map((name) => ({ name, method: 'POST', path: '/', body: '', weight: 1 }))
  const mix = { ...PLAN.mix, entries }
  const one = { sides: { a: { url: 'http://a/' } }, prices: { a: price(0.36) }, blocks: 2 }
  const plan = { ...PLAN, ...one, mix, without: [entries[0]], left_out: 'estimate' }
  const records = runOf(plan, { a: service(100, 20) }, { noise: 0 })
  const told = records.map((record) => {
    const { at, traffic } = record
    const names = at.variant === 'without' ? ['create'] : ['create', 'estimate']
    const own = { ok: traffic.ok / names.length, latency_ms: { mean: 10 * names.length } }
    return { ...record, traffic: { ...traffic, by_entry: Object.fromEntries(names.map((name) => [name, own])) } }
  })
  const text = (/** @type {any[]} */ some) => markdownOf(rampReport(findingsOf(plan, some)))
  t.match(text(told), /\| A: http:\/\/a\/ +\| +0\.3600 \| +100 \| +1\.00+ \|/)
  t.match(text(told), /\| A, 16: create +\| +50 \| +100 \| +2\.00x \| +20\.0 ms \| +10\.0 ms \| +0\.50x \|/)
  t.match(text(records), /What leaving out estimate did to the others is not known/)
})

t.test('the published cost, from its inputs: 18.75 %, not 23 %', async (t) => {
  const { cost, notes, cached_method_ceiling, screen } = PUBLISHED
  const { a, b, a_for_one_b, storage_gb, root_gb, per_gb_month } = cost
  const savedPerHour = (/** @type {number} */ gigabytes) => {
    return a_for_one_b * perHour({ per_hour: a.per_hour, storage_gb: gigabytes, per_gb_month }) - b.per_hour
  }
  const saved_per_hour = savedPerHour(0)
  const [month, stored, rooted] = [0, storage_gb / a_for_one_b, root_gb].map((own) => savedPerHour(own) * 730)
  const [saved_ratio, surcharge_ratio] = [saved_per_hour / (a_for_one_b * a.per_hour), saved_per_hour / b.per_hour]
  const near = (/** @type {number} */ a, /** @type {number} */ b, within = 1e-9) =>
    t.ok(Math.abs(a - b) <= within, `${a}, ${b}`)
  near(saved_per_hour, cost.saved_per_hour)
  near(saved_ratio, 0.1875)
  near(surcharge_ratio, cost.headline_ratio, 0.005)
  near(month, cost.saved_per_month, 3)
  near(stored - month, cost.storage_per_month)
  near(stored, cost.saved_with_storage_per_month, 3)
  near(rooted, cost.saved_with_roots_per_month, 3)
  const text = notes.join(' ')
  const figures = [
    `${saved_per_hour.toFixed(3)} USD/h`,
    `which is ${month.toFixed(0)} USD a month (published: ${cost.saved_per_month})`,
    `${stored.toFixed(0)} with the storage (${cost.saved_with_storage_per_month})`,
    `${rooted.toFixed(0)} with root disks only (${cost.saved_with_roots_per_month})`,
    `That is ${+(saved_ratio * 100).toFixed(2)} %`,
    `the headline's ${cost.headline_ratio * 100} %`,
    `(the two are ${(surcharge_ratio * 100).toFixed(0)} % dearer)`,
    ...[...cached_method_ceiling.map((/** @type {any} */ { rps }) => rps), ...screen.groups_rps].map(
      (rps) => `${rps / 1000},000/s`,
    ),
  ]
  for (const figure of figures) t.ok(text.includes(figure), figure)
})

t.test('a price and a rate give the cost of a million requests', async (t) => {
  const million = costPerMillion(price(0.36), { estimate: 100, low: 50, high: 200 })
  t.strictSame(million, { estimate: 1, low: 0.5, high: 2 }, '0.36 an hour are 0.0001 a second')
  t.ok(Math.abs(perHour(price(0.192, 730)) - 0.292) < 1e-12)
  const twice = costRatio(price(1), price(2), { estimate: 2, low: 1, high: 4 })
  t.strictSame(twice, { estimate: 1, low: 0.5, high: 2 })
  t.equal(PRICE.parse('0.192/h'), 0.192)
  for (const wrong of ['0.192', '0/h', '-1/h', '1/m', '1e3/h']) t.equal(PRICE.parse(wrong), undefined, wrong)
  t.strictSame(STORAGE.parse('1100GBx0.10'), { storage_gb: 1100, per_gb_month: 0.1 })
  for (const wrong of ['1100x0.1', 'GBx0.1', '5GB', '5GBx']) t.equal(STORAGE.parse(wrong), undefined, wrong)
})
