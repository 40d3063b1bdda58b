import t from 'tap'
import { cellName } from '../../../../load/report/format.js'
import { factorial, oneAtATime, visitsOf } from '../../../../tuning/stats/design.js'

const KNOBS = [
  { name: 'POOL_MAX', levels: [20, 5, 40] },
  { name: 'NOFILE', levels: [1024, 700] },
]

t.test('every combination, the first with every knob at its first level', async (t) => {
  const cells = factorial(KNOBS)
  t.equal(cells.length, 6)
  t.equal(new Set(cells.map(cellName)).size, 6)
  t.strictSame(cells[0], { POOL_MAX: 20, NOFILE: 1024 })
})

t.test('one knob at a time', async (t) => {
  t.strictSame(oneAtATime(KNOBS).map(cellName), [
    'POOL_MAX=20 NOFILE=1024',
    'POOL_MAX=5 NOFILE=1024',
    'POOL_MAX=40 NOFILE=1024',
    'POOL_MAX=20 NOFILE=700',
  ])
})

t.test(
  'each block has every cell once, in an order of its own, and the anchor at its start, middle and end',
  async (t) => {
    const cells = ['a', 'b', 'c', 'd', 'e']
    const design = { cells, anchor: 'a', blocks: 20, seed: 3 }
    const visits = visitsOf(design)
    t.strictSame(visits, visitsOf(design), 'the seed decides')
    const orders = new Set()
    for (let block = 0; block < 20; block++) {
      const own = visits.filter((visit) => visit.block === block)
      t.strictSame(
        own.map(({ position }) => position),
        [0, 1, 2, 3, 4, 5, 6],
      )
      const order = own.map(({ cell }) => cell)
      t.strictSame([order[0], order[3], order[6]], ['a', 'a', 'a'])
      t.strictSame(order.filter((cell) => cell !== 'a').sort(), ['b', 'c', 'd', 'e'])
      orders.add(order.join())
    }
    t.ok(orders.size > 5, `${orders.size} different orders of 24`)
    const plain = visitsOf({ ...design, anchor: null })
    t.equal(plain.length, 20 * 5)
    const orderOf = (/** @type {number} */ block) =>
      plain.filter((visit) => visit.block === block).map(({ cell }) => cell)
    for (let block = 0; block < 20; block += 2) {
      t.strictSame(orderOf(block + 1), orderOf(block).reverse(), 'the next block goes backwards')
    }
  },
)

t.test('an anchor alone is still visited three times a block', async (t) => {
  t.strictSame(
    visitsOf({ cells: ['a'], anchor: 'a', blocks: 1, seed: 1 }).map(({ cell }) => cell),
    ['a', 'a', 'a'],
  )
})

t.test('no cell is first more often than another', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const visits = visitsOf({ cells: ['a', 'b'], anchor: null, blocks: 6, seed })
    t.equal(visits.filter(({ position, cell }) => position === 0 && cell === 'a').length, 3, `seed ${seed}`)
  }
  const first = Array.from(
    { length: 60 },
    (_, seed) => visitsOf({ cells: ['a', 'b'], anchor: null, blocks: 1, seed })[0],
  )
  const share = first.filter(({ cell }) => cell === 'a').length / 60
  t.ok(share > 0.3 && share < 0.7, `${share}: seeds that follow each other draw different orders`)
})
