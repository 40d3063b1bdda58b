import t from 'tap'
import { createMix } from '../../load/mix.js'

const plan = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 42 }
const bodies = (/** @type {any} */ mix, /** @type {number} */ n) => Array.from({ length: n }, (_, i) => mix.body(i))

t.test('the same seed and trial send the same bytes', async (t) => {
  t.strictSame(bodies(createMix(plan, 1), 100), bodies(createMix(plan, 1), 100))
})

t.test('no email is sent twice, in a trial, in a run, or with another seed', async (t) => {
  const mixes = [createMix(plan, 1), createMix(plan, 2), createMix({ ...plan, seed: 43 }, 1)]
  const emails = mixes.flatMap((mix) => bodies(mix, 1000)).map((body) => JSON.parse(body).email)
  t.equal(new Set(emails).size, 3000)
})

t.test('a body that is given is sent as it is, each time', async (t) => {
  const mix = createMix({ ...plan, body_base64: Buffer.from([0, 255, 10]).toString('base64') }, 1)
  t.strictSame(mix.body(0), Buffer.from([0, 255, 10]))
  t.strictSame(mix.body(9), Buffer.from([0, 255, 10]))
})
