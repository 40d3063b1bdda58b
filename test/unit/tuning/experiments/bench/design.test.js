import t from 'tap'
import { analyse, bench, design } from '../../../../../tuning/experiments/bench/bench.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const plan = /** @type {any} */ ({
  repeats: 2,
  contenders: ['batched', 'prepared', 'single'],
  mix: { name: 'create-user', seed: 7 },
  duration_s: 1,
})

/** @type {Record<string, number>} */
const CAPACITY_RPS = { batched: 30_000, 'crowd-2500': 4000 }

/** @param {any} plan @param {any} [change] */
function runOf(plan, change) {
  const serve = createService(({ cell }) => ({ capacity_rps: CAPACITY_RPS[String(cell?.contender)] ?? 5000 }))
  return recordsOf(plan, design, serve, { change })
}

t.test('every contender in every block, in an order of its own that the seed decides', async (t) => {
  const records = runOf(plan)
  for (const block of [0, 1]) {
    const names = records.filter(({ at }) => at.block === block).map(({ cell }) => cell.contender)
    t.strictSame([...new Set(names)].sort(), ['batched', 'prepared', 'single'])
  }
  const firsts = Array.from({ length: 20 }, (_, seed) => {
    return design({ ...plan, mix: { seed }, repeats: 1 }, [], [])?.cell.contender
  })
  t.equal(new Set(firsts).size, 3, 'each comes first for some seed')
})

t.test('the floors and batched also get the high rate, and a crowd gets it with all of its connections', async (t) => {
  const contenders = ['no-op', 'json', 'batched', 'fastify', 'rtt-0', 'crowd-256', 'crowd-2500', 'copy']
  const records = runOf({ ...plan, repeats: 1, contenders })
  const loads = (/** @type {string} */ kind) =>
    Object.fromEntries(
      records.filter(({ at }) => at.kind === kind).map(({ cell, load }) => [cell.contender, load.connections]),
    )
  t.strictSame(loads('busy'), { 'no-op': 64, json: 64, batched: 64, 'crowd-256': 256, 'crowd-2500': 2500 })
  t.strictSame(loads('over'), { 'crowd-256': 256, 'crowd-2500': 2500 })
  t.equal(records.find(({ at, cell }) => at.kind === 'over' && cell.contender === 'crowd-256')?.load.rate_rps, 10_000)
  t.equal(loads('saturation')['crowd-2500'], 128)
  const rates = new Set(records.filter(({ at }) => at.kind === 'busy').map(({ load }) => load.rate_rps))
  t.strictSame([...rates], [10_000])
  t.strictSame(Object.keys(loads('half')).sort(), ['batched', 'fastify', 'json', 'no-op'])
  t.strictSame(Object.keys(loads('low')).sort(), ['batched', 'fastify', 'json', 'no-op', 'rtt-0'])
})

t.test('the report relates many clients to few, and what is stored to what is only read', async (t) => {
  const contenders = ['no-op', 'json', 'batched', 'fastify', 'crowd-256', 'crowd-2500']
  const found = analyse({ ...plan, contenders }, runOf({ ...plan, contenders }), { not_applied: [] })
  const rowsOf = (/** @type {string} */ name) => {
    const table = bench.report(found).find((block) => block.kind === 'table' && block.name === name)
    return /** @type {any} */ (table).rows
  }
  t.strictSame(
    rowsOf('busy').map((/** @type {string[]} */ [name]) => name),
    ['no-op', 'json', 'batched'],
  )
  t.strictSame(
    rowsOf('crowd').map((/** @type {string[]} */ [name, , ratio]) => [name, ratio]),
    [
      ['crowd-256', '1.00 [1.00–1.00]'],
      ['crowd-2500', '0.80 [0.80–0.80]'],
    ],
  )
})

t.test('run.json keeps the inserts per second of each server, and their CPU', async (t) => {
  const { kept } = analyse(plan, runOf(plan), { not_applied: [] })
  const { servers } = JSON.parse(JSON.stringify(kept))
  t.strictSame(
    servers.map((/** @type {any} */ { name, inserts_rps }) => [name, inserts_rps.median]),
    [
      ['batched', 25_600],
      ['prepared', 5000],
      ['single', 5000],
    ],
  )
  t.match(servers[1], { kind: 'server', cpu_us_each: { median: Number }, is_lower_bound: Boolean })
})

t.test(
  'the picture of inserts shows the CPU per insert of each server, and says if their limit lies outside their core',
  async (t) => {
    const contenders = ['no-op', 'prepared', 'express']
    const pictureAt = (/** @type {number} */ core) => {
      const records = runOf({ ...plan, contenders }, (/** @type {any} */ record) => {
        const api = { ...record.probes.api, cpu_core_ratio: core, cpu_us_per_request: 50.12 }
        return { ...record, probes: { ...record.probes, api } }
      })
      const found = analyse({ ...plan, contenders }, records, { not_applied: [] })
      const drawn = bench.report(found).find(({ kind }) => kind === 'picture')
      return /** @type {any} */ (drawn).picture
    }
    const { form, about } = pictureAt(0.5)
    t.strictSame(form.labels, ['prepared, 50.1 us of CPU', 'express, 50.1 us of CPU'])
    t.match(about, /Next to each name: the CPU that its process takes for an insert\./)
    t.match(about, /None of these servers fills its core \(50 % to 50 % of it\): Postgres and the generator, outside/)
    t.notMatch(pictureAt(0.95).about, 'None of these servers')
  },
)

t.test('a pass puts one kind of load on every contender, and the last one offers half of what each took', async (t) => {
  const records = runOf(plan)
  const passes = records.map(({ at }) => `${at.block} ${at.kind}`)
  const kinds = ['saturation', 'low', 'busy', 'half']
  t.strictSame(
    passes,
    [0, 1].flatMap((block) => kinds.flatMap((kind) => Array(kind === 'busy' ? 1 : 3).fill(`${block} ${kind}`))),
  )
  const halves = records.filter(({ cell, at }) => cell.contender === 'prepared' && at.kind === 'half')
  t.strictSame(
    halves.map(({ load }) => load.rate_rps),
    [2500, 2500],
  )
})

t.test('the work that is left falls with every trial', async (t) => {
  const left = /** @type {number[]} */ ([])
  const records = /** @type {any[]} */ ([])
  for (let step = design(plan, records, []); step; step = design(plan, records, [])) {
    left.push(step.left_s)
    records.push({ ...step, outcome: { verdict: 'pass' }, traffic: { goodput_rps: 5000 } })
  }
  t.equal(left.length, 20)
  t.ok(
    left.every((left_s, i) => i === 0 || left_s < left[i - 1]),
    left.join(' '),
  )
  t.equal(left.at(-1), 2, 'a trial and its warm-up')
})

t.test('a trial that is invalid is repeated twice, then given up', async (t) => {
  const records = runOf({ ...plan, repeats: 1, contenders: ['prepared'] }, (/** @type {any} */ record) => {
    return record.at.kind === 'low' ? { ...record, outcome: { verdict: 'invalid', blame: 'noise' } } : record
  })
  t.strictSame(
    records.map(({ at }) => at.kind),
    ['saturation', 'low', 'low', 'low', 'half'],
  )
})
