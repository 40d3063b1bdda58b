import t from 'tap'
import { UsageError } from '../../../../../load/command/errors.js'
import { aroundCeiling, crossingOf, nextWorkers } from '../../../../../tuning/experiments/ramp/climb.js'
import { design, seriesOf } from '../../../../../tuning/experiments/ramp/design.js'
import { chosenDrivers, versionsOf } from '../../../../../tuning/experiments/ramp/ramp.js'
import { findingsOf, PLAN, runOf, service, textOf } from './services.js'

t.test('workers rise until the ceiling is passed, then close in on it', async (t) => {
  const climb = { start: 8, most: 1000, growth: 2, close: 1.5 }
  const walk = (/** @type {(workers: number) => boolean} */ over, of = climb) => {
    /** @type {any[]} */
    const rungs = []
    for (
      let workers = nextWorkers(rungs, of);
      workers !== null && rungs.length < 50;
      workers = nextWorkers(rungs, of)
    ) {
      rungs.push({ workers, over: over(workers), mean_ms: workers, rps: 1 })
    }
    return rungs.map(({ workers }) => workers)
  }
  const rows = /** @type {[string, (workers: number) => boolean, number[], any?][]} */ ([
    ['doubles, then the middle', (workers) => workers > 100, [8, 16, 32, 64, 128, 91]],
    ['never over: the most allowed is the last', () => false, [8, 16, 32, 64, 128, 256, 512, 1000]],
    ['over at once: down', (workers) => workers > 3, [8, 4, 2, 3]],
    ['over with one worker: nothing lies below', () => true, [8, 4, 2, 1]],
    ['less than the start is allowed', () => false, [5], { ...climb, most: 5 }],
    [
      'one that begins near the ceiling',
      (workers) => workers > 100,
      [91, 137, 112],
      { ...climb, start: 91, growth: 1.5 },
    ],
  ])
  for (const [about, over, expected, of] of rows) t.strictSame(walk(over, of), expected, about)
})

t.test('the rate at the ceiling lies between the rungs around it', async (t) => {
  const rung = (/** @type {number} */ workers, /** @type {number} */ mean_ms, rps = 1000, over = mean_ms > 100) => {
    return { workers, mean_ms, rps, over }
  }
  const close = (/** @type {number | undefined} */ a, /** @type {number} */ b) =>
    t.ok(Math.abs(Number(a) - b) < 1e-9, `${a}`)
  const saturated = crossingOf([rung(64, 64), rung(128, 128)], 100)
  close(saturated?.workers, 100)
  close(saturated?.rps, 1000)
  close(crossingOf([rung(10, 50, 200), rung(40, 200, 800)], 100)?.rps, 400)
  t.match(crossingOf([rung(64, 64, 900), rung(128, 20, 2000, true)], 100), { workers: 64, rps: 900 }, 'one that failed')
  t.match(crossingOf([rung(64, 64, 900), rung(128, Number.POSITIVE_INFINITY, 0, true)], 100), { rps: 900 })
  t.equal(crossingOf([rung(8, 10), rung(16, 20)], 100), null)
  t.equal(crossingOf([rung(1, 200)], 100), null)
  const wavering = [rung(8, 80), rung(16, 120), rung(32, 90)]
  t.match(
    aroundCeiling(wavering),
    { below: { workers: 8 }, above: { workers: 16 } },
    'a rung beyond one that was over is luck',
  )
})

t.test('wrk has workers for all cores alike', async (t) => {
  const plan = { ...PLAN, drivers: ['wrk', 'autocannon'], generator_cores: 3 }
  const records = runOf(plan, { a: service(200, 20), b: service(400, 20) })
  const workers = (/** @type {string} */ driver) => {
    return records.filter(({ load }) => load.driver === driver).map(({ load }) => load.connections)
  }
  t.ok(workers('wrk').length > 20)
  t.strictSame(
    workers('wrk').filter((number) => number % 3 > 0),
    [],
  )
  t.ok(workers('autocannon').some((number) => number % 3 > 0))
  const climb = { start: 8, most: 1000, growth: 2, close: 1.5, multiple: 4 }
  const over = (/** @type {number} */ number) => ({ workers: number, over: true, mean_ms: 1, rps: 1 })
  t.equal(nextWorkers([over(8), over(4)], climb), 2, 'below the number of cores, any')
  t.equal(nextWorkers([{ ...over(998), over: false }], { ...climb, most: 999 }), null, 'no more than is allowed')
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) })
  for (const length of [0, 1, 7, 33, records.length - 1]) {
    const { at, cell } = records[length]
    t.match(design(PLAN, records.slice(0, length)), { at, cell })
  }
  const later = records.filter(({ at }) => at.block > 0)
  t.ok(later.length / 14 <= 3, `${later.length} trials in 14 later climbs: they begin near the ceiling`)
})

t.test('each request of a mix is screened alone; one is left out', async (t) => {
  const entries = ['create', 'estimate'].map((name) => ({ name, method: 'POST', path: '/', body: '', weight: 1 }))
  const plan = { ...PLAN, blocks: 1, mix: { ...PLAN.mix, entries }, without: [entries[0]], left_out: 'estimate' }
  const slowed = (/** @type {any} */ load) => service(load.mix?.entries.length === 1 ? 1000 : 100, 5)(load)
  const records = runOf(plan, { a: slowed, b: slowed })
  const screens = [0, 1, 2, 3].map((i) => {
    const step = design(plan, records.slice(0, i))
    return [step?.at?.phase, step?.at?.entry, step?.cell.side, step?.load.mix?.entries?.length]
  })
  t.strictSame(screens, [
    ['screen', 'create', 'a', 1],
    ['screen', 'estimate', 'a', 1],
    ['screen', 'create', 'b', 1],
    ['screen', 'estimate', 'b', 1],
  ])
  t.equal(seriesOf(plan).length, 4)
  const findings = findingsOf(plan, records)
  const [all, without] = findings.kept.ramp.series
  t.ok(without.rps.estimate > 8 * all.rps.estimate)
  t.match(textOf(findings), /^A, without estimate /m)
})

t.test('a driver whose tool is missing is refused with what installs it', async (t) => {
  const driver = (/** @type {string} */ name, missing = false) => {
    const check = () => {
      if (missing) throw new UsageError(`expected ${name} on PATH, found none: apt-get install ${name}`)
    }
    return { name, check, version: async () => '1' }
  }
  const all = { autocannon: driver('autocannon'), client: driver('client'), wrk: driver('wrk', true) }
  const versions = (/** @type {string[]} */ drivers) => versionsOf({ ...PLAN, drivers }, /** @type {any} */ (all))
  t.strictSame(await versions(['autocannon', 'client']), { autocannon: '1', client: '1' })
  await t.rejects(
    versions(['autocannon', 'wrk']),
    new UsageError('expected wrk on PATH, found none: apt-get install wrk'),
  )
  t.strictSame(chosenDrivers({ 'cross-check': true }, []), ['autocannon', 'wrk'])
  t.strictSame(chosenDrivers({ driver: ['wrk'], 'cross-check': true }, []), ['wrk', 'autocannon'], 'never with itself')
  t.strictSame(chosenDrivers({}, [{ url: 'https://a/', file: null }]), ['workers'])
})

t.test('a side that stops answering ends the climbs, and is the reason for no answer', async (t) => {
  const records = runOf(PLAN, { a: service(5000, 5), b: service(10_000, 5) }).slice(0, 30)
  const silenced = (/** @type {number} */ trials) => {
    const silent = records.filter(({ cell }) => cell.side === 'a').slice(-trials)
    return records.map((record) => {
      if (!silent.includes(record)) return record
      return { ...record, traffic: { ...record.traffic, ok: 0 }, outcome: { verdict: 'fail', because: 'refused' } }
    })
  }
  t.equal(design(PLAN, silenced(4)), null)
  const problem = 'A stopped answering: no request of its last 4 trials succeeded (refused)'
  t.equal(findingsOf(PLAN, silenced(4)).problem, problem)
  t.ok(design(PLAN, silenced(3)), 'three may be chance')
})
