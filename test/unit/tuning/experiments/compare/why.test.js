import t from 'tap'
import { COLD_WARMUP_S } from '../../../../../load/capacity/ladder.js'
import { compare } from '../../../../../tuning/experiments/compare/compare.js'
import { design } from '../../../../../tuning/experiments/compare/design.js'
import { chapterTexts, unprovenText, whyText } from '../../../../../tuning/experiments/compare/why.js'
import { findingsOf, PLAN, runOf, textOf } from '../../../../support/made-up/compare.js'

const FILES = { a: { url: null, file: 'a.env' }, b: { url: null, file: 'b.env' } }
const OURS = { sides: FILES, proves: true, blocks: 1, ladders: 1 }

/** @param {any[]} records */
const proofIn = (records) => records.filter(({ at }) => at.phase === 'proof')

t.test('after the blocks, each side of ours is proven under all the workers of its best rung', async (t) => {
  const records = runOf({ plan: OURS, noise: 0 })
  const proof = proofIn(records)
  t.strictSame(
    proof.map(({ cell, load }) => [cell.side, load.warmup_s]),
    ['a', 'b'].flatMap((side) => Array.from({ length: 6 }, (_, i) => [side, i === 0 ? COLD_WARMUP_S : 0.5])),
    'the service is cold in the first trial of a side',
  )
  t.equal(records.indexOf(proof[0]), records.length - proof.length)
  const [{ load }] = proof
  const [{ maxima }] = findingsOf(records, OURS).sides
  t.match(load, { driver: 'workers', loop: 'closed', rate_rps: null, connections: maxima[0].workers })
  t.equal(load.per_worker_rps, undefined, 'a cap would hide what a dose costs')
  for (const length of [records.length - 10, records.length - 5, records.length - 1]) {
    const { at, cell } = records[length]
    const next = design({ ...PLAN, ...OURS }, records.slice(0, length))
    t.strictSame([next?.at, next?.cell], [at, cell], 'goes on where it was cut off')
  }
})

t.test('a side behind a URL is not dosed, and the report says so once; nor is any side if told so', async (t) => {
  const sides = { ...FILES, b: PLAN.sides.b }
  const mixed = runOf({ plan: { ...OURS, sides }, noise: 0 })
  t.strictSame([...new Set(proofIn(mixed).map(({ cell }) => cell.side))], ['a'])
  const text = textOf(mixed, { ...OURS, sides })
  t.equal(text.split('What limits B is not proven: the processes behind a URL are not known.').length, 2)
  t.match(text, /\n- A is limited by the service: slowing it by 10 % costs 1\d % \[/)
  t.match(text, /\n {2}- What to change in A: tuning\/PLAYBOOK\.md#api-cpu\.\n/)
  t.equal(unprovenText(PLAN), null, 'an older run proved nothing')
  t.match(unprovenText({ ...PLAN, proves: true }), /^What limits A and B is not proven: /)
  t.equal(unprovenText({ ...PLAN, ...OURS }), null)

  const none = { ...OURS, proves: false }
  t.strictSame(proofIn(runOf({ plan: none })), [])
  t.match(textOf(runOf({ plan: none }), none), /What limits each side is not proven \(--quick or --no-proof\)/)
  const planned = (/** @type {object} */ flags) => compare.plan({ ...FILES, ...flags }, {})
  t.strictSame(
    [{}, { 'no-proof': true }, { quick: true }].map((flags) => planned(flags).proves),
    [true, false, false],
  )
  const minutesOf = (/** @type {any} */ plan) => Number(/about (\d+) min/.exec(String(compare.size?.(plan)))?.[1])
  const theirs = { a: PLAN.sides.a, b: PLAN.sides.b }
  t.equal(minutesOf(planned({})) - minutesOf(planned({ 'no-proof': true })), 2)
  t.equal(minutesOf(planned({ 'no-proof': true })) - minutesOf(planned(theirs)), 2, 'ours are warmed up in each visit')
  t.ok(minutesOf(planned({ quick: true })) <= 2)
  const coldIn = (/** @type {any} */ plan) => design(plan, [])?.cold_warmup_s
  t.equal(coldIn(planned({})), COLD_WARMUP_S, 'each visit starts a side of ours, which is cold')
  t.strictSame([coldIn(planned(theirs)), coldIn(planned({ quick: true }))], [undefined, undefined])
})

t.test('a search for the rate limit proves nothing, and a refusal in a proof starts no search', async (t) => {
  const records = runOf({ plan: OURS, limit_rps: 300, limited: 'a', noise: 0 })
  t.ok(records.some(({ at }) => at.of === 'limit'))
  const proof = proofIn(records)
  t.not(proof.length, 0)
  t.ok(proof.every(({ at }) => at.of === undefined))
  const refused = runOf({ plan: OURS, noise: 0 }).map((record) => {
    return record.at.phase === 'proof'
      ? { ...record, traffic: { ...record.traffic, status: { 503: 1 }, completed: 1 } }
      : record
  })
  t.equal(design({ ...PLAN, ...OURS }, refused), null)
  t.equal(findingsOf(refused, OURS).sides[0].refusal, null)
})

t.test('run.json has the limit and the elasticities of each side, and the report their bars', async (t) => {
  const records = runOf({ plan: OURS, b: 1.5, noise: 0.01 })
  const { kept } = findingsOf(records, OURS)
  t.strictSame(
    kept.proofs.map((/** @type {any} */ { side, kind, elasticities }) => [side, kind, elasticities[0].resource]),
    [
      ['a', 'full', 'api-cpu'],
      ['b', 'full', 'api-cpu'],
    ],
  )
  const blocks = /** @type {any[]} */ (compare.report(findingsOf(records, OURS)))
  const names = blocks.flatMap(({ picture }) => picture?.name ?? [])
  t.strictSame(names, ['latency', 'elasticities-a', 'elasticities-b'])
  t.match(
    markdown(records),
    /\n {2}- Proof of A, in throughput \[95 % interval\]: slowing the service by 10 % costs 1\d % /,
  )
  t.notOk('proofs' in findingsOf(runOf({}), {}).kept)
})

/** @param {any[]} records */
function markdown(records) {
  return textOf(records, OURS)
}

t.test('an accused pool of a side is enlarged', async (t) => {
  const pool = (/** @type {any[]} */ records) =>
    proofIn(records).filter(({ at, cell }) => at.relaxed && cell.side === 'a')
  const accused = runOf({ plan: OURS, noise: 0, limit: 'pool-size' })
  t.strictSame(
    pool(accused).map(({ cell }) => cell),
    Array(4).fill({ side: 'a', POOL_MAX: 80 }),
  )
  t.strictSame(pool(runOf({ plan: OURS, noise: 0 })), [])
})

/** @param {string} suspect @param {number} elasticity @param {number} [demand_us] @param {number} [factor] @returns {any} */
function one(suspect, elasticity, demand_us = Number.NaN, factor) {
  const [low, high] = [elasticity - 0.1, elasticity + 0.1]
  return { suspect, resource: 'any', elasticity, low, high, pairs: 6, demand_us, ...(factor && { factor }) }
}

/** @param {string} name @param {string} kind @param {any[]} elasticities @param {number} [limits] @returns {any} */
function side(name, kind, elasticities, limits = 1) {
  return { name, proof: { kind, suspects: elasticities.slice(0, limits), elasticities, undosed: [] } }
}

const POSTGRES = side('A', 'full', [one('core 1', 1, 300), one('core 0', 0.1, 100)])
const SERVICE = side('B', 'full', [one('core 0', 0.9, 110), one('core 1', 0.2, 80)])
const B_IS_FASTER = { because: '', tied: false, ratio: 2 }

t.test('each known limit of a side links to its chapter of the playbook', async (t) => {
  const full = [one('Postgres', 1), one('the service', 0.9)].map((found, i) => {
    return { ...found, resource: ['postgres-cpu', 'api-cpu'][i] }
  })
  /** @type {[string, number, string[]][]} */
  const rows = [
    ['full', 1, ['What to change in A: tuning/PLAYBOOK.md#postgres-cpu.']],
    ['tie', 2, ['What to change in A: tuning/PLAYBOOK.md#postgres-cpu, tuning/PLAYBOOK.md#api-cpu.']],
    ['lock-step', 2, ['What to change in A: tuning/PLAYBOOK.md#lock-step.']],
    ['undecided', 2, []],
    ['none', 0, []],
  ]
  for (const [kind, limits, texts] of rows) t.strictSame(chapterTexts(side('A', kind, full, limits)), texts, kind)
  t.strictSame(chapterTexts({ name: 'A', proof: null }), [], 'a side that was not dosed')
})

/** @type {[name: string, difference: object, sides: any[], text: string | null][]} */
const WHYS = [
  [
    'two limits, what the limit of the slower side costs the faster one, and what a request takes of it',
    B_IS_FASTER,
    [POSTGRES, SERVICE],
    'Why B is faster: A is limited by core 1: slowing it by 10 % costs 10 % [9–11]; in B that costs 2 % [1–3]. A request takes 300 us of core 1 in A, 80 us in B. B is limited by core 0: slowing it by 10 % costs 9 % [8–10].',
  ],
  [
    'the slower side comes first',
    { ...B_IS_FASTER, ratio: 0.5 },
    [
      { ...SERVICE, name: 'A' },
      { ...POSTGRES, name: 'B' },
    ],
    'Why A is faster: B is limited by core 1: slowing it by 10 % costs 10 % [9–11]; in A that costs 2 % [1–3]. A request takes 300 us of core 1 in B, 80 us in A. A is limited by core 0: slowing it by 10 % costs 9 % [8–10].',
  ],
  [
    'a tie has two limits and no reason',
    { ...B_IS_FASTER, tied: true },
    [POSTGRES, SERVICE],
    'A is limited by core 1: slowing it by 10 % costs 10 % [9–11]. B is limited by core 0: slowing it by 10 % costs 9 % [8–10].',
  ],
  [
    'a pool that only the slower side has too small',
    B_IS_FASTER,
    [side('A', 'full', [one('POOL_MAX x 4', 0.5, undefined, 4)]), side('B', 'undecided', [one('core 0', 0.3)], 0)],
    'Why B is faster: A is limited by its pool: POOL_MAX x 4 gains 100 % [74–130] (elasticity 0.5). The doses do not decide what limits B.',
  ],
  [
    'several that take turns, and none',
    B_IS_FASTER,
    [side('A', 'lock-step', [one('core 0', 0.5), one('core 1', 0.4)], 2), side('B', 'none', [one('core 0', 0)], 0)],
    'Why B is faster: A is limited by several resources that take turns: slowing core 0 by 10 % costs 5 % [4–6], slowing core 1 by 10 % costs 4 % [3–5]. Nothing that was slowed limits B.',
  ],
  [
    'not proven if the limit of the slower side is not decided',
    B_IS_FASTER,
    [side('A', 'undecided', [one('core 0', 0.3)], 0), SERVICE],
    'Why B is faster is not proven. The doses do not decide what limits A. B is limited by core 0: slowing it by 10 % costs 9 % [8–10].',
  ],
  [
    'nothing was dosed',
    B_IS_FASTER,
    [
      { name: 'A', proof: null },
      { name: 'B', proof: null },
    ],
    null,
  ],
]

for (const [name, difference, sides, text] of WHYS) {
  t.test(`why: ${name}`, async (t) => t.equal(whyText([/** @type {any} */ (difference)], sides), text))
}
