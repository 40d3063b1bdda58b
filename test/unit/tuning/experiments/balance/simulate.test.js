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
import { simulate, worlds } from '../../../../../tuning/experiments/balance/simulation.js'

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
  const [none, spells, uneven] = found
  for (const gain of Object.values(none.gains)) t.ok(Math.abs(gain - 1) < 0.03, `nothing to gain: ${gain}`)
  t.equal(allLower(none.gains), false)
  t.equal(allLower(spells.gains), true, JSON.stringify(spells.gains))
  t.equal(allLower(uneven.gains), true, JSON.stringify(uneven.gains))
  t.ok(uneven.adaptive.error_ratio < uneven.round_robin.error_ratio)
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
  const { all_lower_ratio, as_published_ratio, samples } = fewSamples(1)
  t.equal(samples, 20)
  t.ok(all_lower_ratio > 0.01 && all_lower_ratio < 0.5, String(all_lower_ratio))
  t.equal(as_published_ratio, 0)
})

t.test('the published claims, by the figures that were published with them', async (t) => {
  const { gain, saved } = claimsOf({ round_robin_ms: 200, adaptive_ms: 128 })
  t.match(gain, { claimed: 0.18, here: 0.36 })
  t.equal(gain.by_its_figures.toFixed(3), '0.156')
  t.strictSame(
    saved.map(({ requests, claimed, by_its_figures, here }) => [requests, claimed, by_its_figures.toFixed(2), here]),
    [
      [200_000, 4.58, '4.39', 4],
      [1_000_000, 24, '21.94', 20],
    ],
  )
})
