import t from 'tap'
import { slopeOf } from '../../../../../tuning/experiments/soak/soak.js'

t.test('a slope is that of what follows the start', async (t) => {
  const samples = Array.from(
    { length: 10 },
    (_, i) => /** @type {[number, number]} */ ([i * 10, i < 2 ? 500 : 100 + i]),
  )
  t.equal(Number(slopeOf(samples)?.toFixed(6)), 0.1)
  t.equal(slopeOf(samples.slice(0, 3)), null)
})
