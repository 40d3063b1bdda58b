import t from 'tap'
import { takeTurns } from '../../../../../tuning/experiments/ablate/inside/turns.js'
import { nameOf, WHOLE } from '../../../../../tuning/experiments/ablate/stages.js'

const VARIANTS = [[], ['log']]

t.test('a turn is of its requests alone: those before the change, and the wait for it, are not in it', async (t) => {
  /** @type {string[][]} */
  const changes = []
  let follow = () => {}
  const turns = takeTurns({ variants: VARIANTS, requests: 3, seed: 1 }, (without) => {
    changes.push(without)
    return new Promise((resolve) => {
      follow = () => resolve(undefined)
    })
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  /** @type {(() => void)[]} */
  const inFlight = []
  const begin = () => void inFlight.push(turns.began())
  const end = () => inFlight.shift()?.()
  const request = () => {
    begin()
    end()
  }
  const turn = async () => {
    follow()
    await settled()
    for (let i = 0; i < 4; i++) request()
  }
  t.strictSame(changes, [[]])
  for (let i = 0; i < 10; i++) request()
  t.equal(changes.length, 1, 'no turn before the change is through')
  begin()
  begin()
  await turn()
  t.strictSame(changes[1], ['log'], 'three requests after the first that ended')
  follow()
  await settled()
  // Of the three that are in flight two began before the turn before.
  end()
  for (let i = 0; i < 3; i++) request()
  t.equal(changes.length, 2, 'those that began before the change are let out first')
  await turn()
  t.strictSame(changes.slice(2), [[]])
  await turn()
  await turn()
  const [round] = turns.rounds
  const order = round.map(([cell]) => nameOf(VARIANTS[cell]))
  t.strictSame(order, [WHOLE, 'without log', WHOLE, WHOLE])
  t.ok(round.length > 0 && round.flat().every((figure) => figure >= 0))
})

t.test('a turn waits for those that came before it, and not for as many that overtook them', async (t) => {
  let changes = 0
  const turns = takeTurns({ variants: VARIANTS, requests: 3, seed: 1 }, async () => changes++)
  const fast = async (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) turns.began()()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await fast(0)
  await fast(1)
  const endSlow = turns.began()
  await fast(2)
  t.equal(changes, 2, 'three requests after the first that ended')
  await fast(10)
  t.equal(changes, 2, 'the slow one is still under way')
  endSlow()
  await fast(3)
  t.equal(changes, 3)
})
