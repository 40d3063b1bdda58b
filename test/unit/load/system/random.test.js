import t from 'tap'
import { normal, randomAt, seededRandom } from '../../../../load/system/random.js'

t.test('the same seed gives the same numbers, each of which can be had alone', async (t) => {
  const random = seededRandom(7)
  const numbers = Array.from({ length: 5 }, random)
  t.strictSame(
    numbers,
    numbers.map((_, n) => randomAt(7, n)),
  )
  t.equal(new Set([...numbers, ...Array.from({ length: 5 }, seededRandom(8))]).size, 10)
  t.ok(numbers.every((number) => number >= 0 && number < 1))
})

t.test('normal numbers: mean 0, deviation 1, 2.5 % of them above 1.96', async (t) => {
  const random = seededRandom(1)
  const numbers = Array.from({ length: 20_000 }, () => normal(random))
  const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const variance = numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / numbers.length
  t.ok(Math.abs(mean) < 0.02, `${mean}`)
  t.ok(Math.abs(variance - 1) < 0.03, `${variance}`)
  const beyond = numbers.filter((number) => number > 1.96).length / numbers.length
  t.ok(beyond > 0.022 && beyond < 0.028, `${beyond}`)
})
