import t from 'tap'
import { PUBLISHED_PARAMETERS } from '../../../../../tuning/experiments/balance/balancers.js'
import {
  allLower,
  claimsOf,
  fewSamples,
  gainsOf,
  PUBLISHED,
  publishedAt,
  QUANTILES,
} from '../../../../../tuning/experiments/balance/published.js'
import { digestError, simulate, worlds } from '../../../../../tuning/experiments/balance/simulation.js'

const P = PUBLISHED_PARAMETERS

t.test('simulated, the published shape is there where endpoints differ for longer than an answer', async (t) => {
  const options = { samples: 3000, workers: 1, parameters: P, seed: 1 }
  const found = []
  for (const [i, { name, create }] of worlds(6, { count: 1, extra_ms: 250 }).entries()) {
    // To tell nothing from little takes more samples than to see much.
    const samples = i === 0 ? 8000 : options.samples
    const round_robin = await simulate({ ...options, samples, create, strategy: 'round-robin' })
    // Draws of its own: where there is nothing to gain, the same ones would be the same latencies.
    const adaptive = await simulate({ ...options, samples, seed: 2, create, strategy: 'adaptive' })
    found.push({ name, round_robin, adaptive, gains: gainsOf(round_robin, adaptive) })
  }
  t.equal(found.length, 3)
  const [none, spells, uneven] = found
  for (const gain of Object.values(none.gains)) t.ok(Math.abs(gain - 1) < 0.03, `nothing to gain: ${gain}`)
  t.equal(allLower(none.gains), false)
  t.equal(allLower(spells.gains), true, JSON.stringify(spells.gains))
  t.equal(allLower(uneven.gains), true, JSON.stringify(uneven.gains))
  t.ok(uneven.adaptive.error_ratio < uneven.round_robin.error_ratio)
  for (const { name, adaptive, round_robin } of found) {
    t.ok(Number(adaptive.digest_error_ratio) < 0.01, `the digest of "${name}": ${adaptive.digest_error_ratio}`)
    t.equal(round_robin.digest_error_ratio, undefined, 'round robin has no digest')
  }
  t.equal(allLower(gainsOf(PUBLISHED.round_robin, PUBLISHED.adaptive)), true, 'as published')
  const [one, again] = [1, 2].map(() => worlds(6, { count: 1, extra_ms: 250 })[1].create)
  const short = { ...options, samples: 500, strategy: /** @type {const} */ ('adaptive') }
  t.strictSame(
    await simulate({ ...short, create: one }),
    await simulate({ ...short, create: again }),
    'the same seed again',
  )
  t.notSame(
    await simulate({ ...short, create: one }),
    await simulate({ ...short, create: one, seed: 2 }),
    'and another one',
  )
})

t.test('chance is that of the published quantiles', async (t) => {
  for (const name of QUANTILES) {
    t.ok(Math.abs(publishedAt(Number(name.slice(1, -3)) / 100) - PUBLISHED.round_robin[name]) < 1e-9, name)
  }
  t.ok(publishedAt(0) < publishedAt(0.25) && publishedAt(0.95) < publishedAt(1))
  const { all_lower_ratio, as_published_ratio, median_error_ratio, samples } = fewSamples(1)
  t.equal(samples, 20)
  t.ok(all_lower_ratio > 0.01 && all_lower_ratio < 0.5, String(all_lower_ratio))
  t.equal(as_published_ratio, 0)
  t.ok(median_error_ratio > 0.03 && median_error_ratio < 0.3, String(median_error_ratio))
})

t.test('the published claims, by the figures that were published with them', async (t) => {
  const { claims, round_robin, adaptive } = PUBLISHED
  t.match(claims, { gain_ratio: 0.18, requests_ratio: { least: 0.1, most: 0.3 }, error_ratio: 0.03 })
  const [from, to] = [round_robin, adaptive].map(({ p50_ms }) => ({ mean_ms: p50_ms, error_ratio: 0 }))
  const own = claimsOf(from, to)
  t.equal(own.gain_ratio.toFixed(3), '0.156')
  t.strictSame(
    own.saved_h.map((hours) => hours.toFixed(2)),
    ['4.39', '21.94'],
  )
  t.equal(own.requests_ratio, 0, 'without errors there is nothing to repeat')
})

t.test('requests are saved by as much as fewer errors have to be repeated', async (t) => {
  const rows = [
    { before: 0.5, after: 0, saved: 0.5 },
    { before: 0.2, after: 0.2, saved: 0 },
    { before: 0, after: 0.5, saved: -1 },
  ]
  for (const { before, after, saved } of rows) {
    const [from, to] = [before, after].map((error_ratio) => ({ mean_ms: 100, error_ratio }))
    t.equal(claimsOf(from, to).requests_ratio, saved, `${before} -> ${after}`)
  }
})

t.test('the error of a digest is the larger one of its two percentiles', async (t) => {
  const latencies_ms = Array.from({ length: 100 }, (_, i) => i + 1)
  const error = digestError({ samples: 100, median_ms: 51, p95_ms: 95 }, latencies_ms)
  t.ok(Math.abs(error - 0.02) < 1e-9)
  t.ok(Math.abs(digestError({ samples: 100, median_ms: 50, p95_ms: 85.5 }, latencies_ms) - 0.1) < 1e-9)
})
