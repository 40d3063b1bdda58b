import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { aloneMix } from '../../../../../tuning/experiments/ramp/alone.js'
import { design, durationOf, seriesOf } from '../../../../../tuning/experiments/ramp/design.js'
import { rampReport } from '../../../../../tuning/experiments/ramp/report.js'
import { findingsOf, PLAN, price, runOf, service, textOf } from './services.js'

const ENTRIES = ['create', 'read'].map((name) => ({ name, method: 'POST', path: '/', body: '', weight: 1 }))
const EACH = { ...PLAN, each: true, mix: { ...PLAN.mix, entries: ENTRIES } }

/** What A takes of each request alone; of the whole mix, 200/s. @type {Record<string, number>} */
const CAPACITY_RPS = { create: 100, read: 400 }

/** A side that takes so many times as much as A. @param {number} factor @returns {(load: any) => any} */
const side = (factor) => (load) => service(factor * (CAPACITY_RPS[load.mix?.name] ?? 200), 20)(load)

t.test('each request of a mix climbs alone to the same ceiling, and goes on where it was cut off', async (t) => {
  t.strictSame(
    seriesOf(EACH).map(({ key }) => key),
    ['a', 'b'].flatMap((name) => ['all', 'only:create', 'only:read'].map((which) => `${name}:autocannon:${which}`)),
  )
  const records = runOf(EACH, { a: side(1), b: side(2) }, { noise: 0 })
  const alone = records.filter(({ at }) => at.variant === 'only')
  t.ok(alone.length > 50)
  t.strictSame([...new Set(alone.map(({ at }) => at.block))].sort(), [0, 1, 2, 3, 4, 5, 6, 7])
  for (let i = 0; i < records.length; i += 3) {
    const { at, cell } = records[i]
    const step = design(EACH, records.slice(0, i))
    t.strictSame([step?.at, step?.cell], [at, cell])
    const sent = step?.load.mix?.entries?.map(({ name }) => name)
    t.strictSame(sent, at.entry === undefined ? undefined : [at.entry])
  }
  t.equal(design(EACH, records), null)
  const { each, kept } = findingsOf(EACH, records)
  const rounded = (/** @type {number} */ value) => Number(value.toFixed(6))
  t.strictSame(
    each.map((/** @type {any} */ { entry, series, work }) => [
      entry,
      ...series.flatMap((/** @type {any} */ one) => [rounded(one.workers), rounded(one.rps.estimate)]),
      rounded(work.estimate),
    ]),
    [
      ['create', 20, 100, 40, 200, 2],
      ['read', 80, 400, 160, 800, 2],
    ],
  )
  t.strictSame(
    kept.ramp.each.map((/** @type {any} */ { entry, work }) => [entry, work.pairs]),
    [
      ['create', 8],
      ['read', 8],
    ],
  )
})

t.test('a table has the workers, rate, cost and resources of each request alone, next to the whole mix', async (t) => {
  const plan = { ...EACH, prices: { a: price(0.36), b: price(0.72) } }
  const findings = findingsOf(plan, runOf(plan, { a: side(1), b: side(2) }, { noise: 0 }))
  const report = rampReport(findings)
  const text = markdownOf(report)
  t.match(text, /\| each request, to the ceiling \|.* B to A \| +per million requests \| +API core \|/)
  t.match(text, /\| A: the whole mix +\| +40 \| +200 \[200–200\] \| +– \| +0\.50+ \[.*\| +97 % \|/)
  t.match(text, /\| A: create +\| +20 \| +100 \[100–100\] \| +– \| +1\.00+ \[.*\| +97 % \|/)
  t.match(text, /\| B: create +\| +40 \| +200 \[200–200\] \| +2\.00 \[2\.00–2\.00\]x \| +1\.00+ \[.*\| +97 % \|/)
  t.match(text, /## Each request alone\n\n\| side, workers .*\n.*\n\| A, only create, /)
  t.match(text, /Each request of the mix also climbs on its own, in the same blocks, to the same ceiling \(200 ms\)/)
  t.notMatch(textOf(findings), /only (create|read)/, 'the table says it')
  const { picture } = /** @type {any} */ (report.find(({ kind }) => kind === 'picture'))
  t.strictSame(
    picture.form.series.map((/** @type {any} */ { name }) => name),
    ['A', 'B'],
  )
  const none = { ...EACH, each: undefined }
  const without = findingsOf(none, runOf(none, { a: side(1), b: side(2) }, { noise: 0 }))
  t.notMatch(markdownOf(rampReport(without)), /[Ee]ach request, to the ceiling|only create/)
  t.notOk('each' in without.kept.ramp)
})

t.test('the rate of a request that fails before the ceiling is a lower bound, of which no ratio is made', async (t) => {
  const failing = (/** @type {any} */ load) => {
    return { ...side(2)(load), fails: load.mix?.name === 'read' && load.connections > 20 }
  }
  const findings = findingsOf(EACH, runOf(EACH, { a: side(1), b: failing }, { noise: 0 }))
  const [create, read] = findings.each
  t.equal(create.work.pairs, 8)
  t.equal(read.work, null)
  t.match(markdownOf(rampReport(findings)), /\| B: read +\| +16 \| +at least 800 \[800–800\] \| +– \|/)
})

t.test('an entry that takes values from responses is sent with a few of the requests that give them', async (t) => {
  const entry = (/** @type {string} */ name, /** @type {object} */ more) => {
    return { name, method: 'GET', path: '/', body: '', weight: 4, ...more }
  }
  const log = entry('log-in', { take: { token: '/token' } })
  const create = entry('create', { take: { id: '/id' }, headers: { Authorization: 'Bearer {{taken token}}' } })
  const [read, list] = [entry('read', { path: '/user/{{taken id}}' }), entry('list', {})]
  const mix = /** @type {any} */ ({ ...PLAN.mix, headers: [], entries: [list, read, create, log] })
  const sent = (/** @type {any} */ one) => aloneMix(mix, one).entries?.map(({ name, weight }) => [name, weight])
  t.strictSame(sent(list), [['list', 4]])
  t.strictSame(sent(log), [['log-in', 4]], 'what it gives, it needs from nobody')
  t.strictSame(sent(create), [
    ['create', 4],
    ['log-in', 0.04],
  ])
  t.strictSame(sent(read), [
    ['read', 4],
    ['create', 0.02],
    ['log-in', 0.02],
  ])
  t.match(aloneMix(mix, read), { name: 'read', seed: mix.seed })
})

t.test('the estimated duration counts the climbs of each request, and the cold start of each climb', async (t) => {
  const near = (/** @type {number} */ found, /** @type {number} */ expected) => {
    t.ok(Math.abs(found - expected) < 1e-6, `${found} s, expected ${expected}`)
  }
  // Six series instead of two.
  near(durationOf(EACH) - durationOf({ ...EACH, each: undefined }), 2 * durationOf(PLAN))
  const ours = { ...EACH, sides: { a: { url: null, file: null }, b: { url: 'http://b/', file: null } } }
  near(durationOf({ ...ours, cold_warmup_s: 6 }) - durationOf(ours), 3 * EACH.blocks * (6 - EACH.warmup_s))
})
