import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../load/flags.js'
import { diskUse, parseDisks } from '../../../load/probes/disk.js'
import { seededRandom } from '../../../load/random.js'
import { openUrl } from '../../../load/targets/index.js'
import { leftOver_s, runTrial } from '../../../load/trial.js'
import { generatorShare } from '../../../tuning/generator-share.js'
import { agreementSentence, agreementsOf, waitingShare } from '../../../tuning/ramp/agreement.js'
import { withBackground } from '../../../tuning/ramp/background.js'
import { aroundCeiling, crossingOf, nextWorkers } from '../../../tuning/ramp/climb.js'
import { costPerMillion, costRatio, PRICE, perHour, replacement, STORAGE } from '../../../tuning/ramp/cost.js'
import { chosenDrivers, presentDrivers } from '../../../tuning/ramp/drivers.js'
import { findingsOf } from '../../../tuning/ramp/findings.js'
import { PUBLISHED, publishedCost } from '../../../tuning/ramp/published.js'
import { sentencesOf } from '../../../tuning/ramp/sentences.js'
import { nextStep, seriesOf } from '../../../tuning/ramp/steps.js'
import { rampReport } from '../../../tuning/ramp/tables.js'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'

const PLAN = /** @type {any} */ ({
  ...{ ceiling_ms: 200, most_workers: 1000, growth: 2, close: 1.5, blocks: 8, background_rps: 0 },
  ...{ warmup_s: 0.5, duration_s: 2, mix: { name: 'create-user', seed: 1 }, prices: {} },
  ...{ sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } }, drivers: ['autocannon'], without: null },
})

/** A service with so many requests/s and so long a way to it, in a closed loop. */
const service = (/** @type {number} */ capacity_rps, /** @type {number} */ least_ms) => (/** @type {any} */ load) => {
  const mean_ms = Math.max(least_ms, (load.connections / capacity_rps) * 1000)
  return { mean_ms, rps: (load.connections / mean_ms) * 1000 }
}

/**
 * A run against made-up services.
 *
 * @param {any} plan
 * @param {Record<string, (load: any) => { mean_ms: number, rps: number, fails?: boolean, generator?: number, waits?: number }>} services
 *   by side, or by side and driver
 * @param {{ noise?: number, invalid?: (step: any, number: number) => boolean }} [options]
 */
function runOf(plan, services, { noise = 0.03, invalid = () => false } = {}) {
  const random = seededRandom(plan.mix.seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {any[]} */
  const records = []
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    const answer = services[`${step.cell}:${step.load.driver}`] ?? services[String(step.cell)]
    const { mean_ms, rps, fails = false, generator = 0.2, waits = 1 } = answer(step.load)
    const factor = Math.exp(noise * normal())
    const completed = (rps / factor) * step.load.duration_s
    const verdict = invalid(step, records.length) ? 'invalid' : fails ? 'fail' : 'pass'
    records.push({
      ...step,
      outcome: { verdict, because: 'made up' },
      probes: { generator: { cpu_core_ratio: generator }, api: {}, postgres: {}, kernel: {} },
      traffic: {
        ...{ ok: 1, completed, goodput_rps: rps / factor, achieved_rps: rps / factor, success_ratio: fails ? 0.5 : 1 },
        ...{ sent: completed, errors: {} },
        latency_ms: { mean: mean_ms * factor * waits, p99: 2 * mean_ms * factor },
      },
    })
  }
  return records
}

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

t.test('two services of 200/s and 400/s: two of A do the work of one B', async (t) => {
  const errors = Array.from({ length: 20 }, (_, seed) => {
    const plan = { ...PLAN, mix: { ...PLAN.mix, seed } }
    const { work, series } = findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) }))
    const [a, b] = series
    t.ok(a.rps.low < 206 && a.rps.high > 194 && Math.abs(b.workers - 80) < 8, JSON.stringify(series))
    return Math.abs(Math.log(Number(work?.ratio) / 2))
  })
  t.ok(Math.max(...errors) < Math.log(1.1), `${Math.max(...errors)}`)
  const covered = Array.from({ length: 100 }, (_, seed) => {
    const plan = { ...PLAN, mix: { ...PLAN.mix, seed } }
    return findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) })).work
  }).filter((work) => work && work.low <= 2 && work.high >= 2)
  t.ok(covered.length >= 90, `${covered.length} of 100 intervals hold 2`)
})

t.test('what is not reached is said, and nothing is made of it', async (t) => {
  const plan = { ...PLAN, blocks: 2, most_workers: 50, prices: { a: price(1), b: price(1) } }
  const records = runOf(plan, { a: service(1e6, 1), b: service(100, 1) })
  const findings = findingsOf(plan, records)
  const text = sentencesOf(plan, findings).join('\n')
  t.match(text, /A \(http:\/\/a\/\): ceiling of 200 ms not reached with 50 workers, the most allowed \(--max-workers\)/)
  t.match(text, /is not known: A lacks the ceiling/)
  t.match(findings.cost, { a: null, b_to_a: null })
  t.ok(findings.cost.b)
  const slow = sentencesOf(plan, findingsOf(plan, runOf(plan, { a: service(1e6, 500), b: service(100, 1) })))
  t.match(slow[0], /even 1 worker had to wait longer/)
  const refusing = (/** @type {any} */ load) => ({ ...service(1000, 1)(load), fails: load.connections > 20 })
  t.match(
    sentencesOf(plan, findingsOf(plan, runOf(plan, { a: refusing, b: refusing })))[0],
    /A .* fails requests from somewhere between 16 and 2\d workers on, .* with at least/,
  )
})

t.test('of a rate that is a lower bound no ratio and no cost is made', async (t) => {
  const plan = { ...PLAN, prices: { a: price(1), b: price(1) } }
  const full = (/** @type {any} */ load) => ({ ...service(400, 20)(load), generator: 0.97 })
  const refusing = (/** @type {any} */ load) => ({ ...service(400, 20)(load), fails: load.connections > 20 })
  const rows = /** @type {[any, RegExp][]} */ ([
    [full, /work of one B is not known, nor at what cost: autocannon was at its own limit on B, so that/],
    [refusing, /work of one B is not known, nor at what cost: B fails requests before it is at the ceiling, so that/],
  ])
  for (const [b, why] of rows) {
    const findings = findingsOf(plan, runOf(plan, { a: service(200, 20), b }))
    t.match(findings, { work: null, cost: { b: null, b_to_a: null } })
    t.ok(findings.cost.a)
    const text = sentencesOf(plan, findings).join('\n')
    t.match(text, why)
    t.match(text, /^B .*with at least [34]\d\d /m)
    t.notMatch(text, /of A do the work of one B at the ceiling/)
  }
})

t.test('of a ceiling that less than half of the blocks met no figure is made', async (t) => {
  /** @type {(lost: number) => any} */
  const found = (lost) => {
    const invalid = (/** @type {any} */ { experiment }) => {
      const [, block, key] = experiment.split('/')
      return key.startsWith('a:') && Number(block) < lost
    }
    const findings = findingsOf(PLAN, runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid }))
    return { findings, text: sentencesOf(PLAN, findings).join('\n') }
  }
  t.match(found(2).text, /^A .* passes a mean latency of 200 ms at .*\(met in 6 of 8 blocks\)\.$/m)
  const { findings, text } = found(5)
  t.match(findings.series[0], { blocks: 0, met: 3, tried: 8, workers: Number.NaN })
  t.match(text, /^A .*: a mean latency of 200 ms was met in 3 of 8 blocks only, of which no figure is made\.$/m)
  t.match(text, /is not known: A lacks the ceiling/)
  t.equal(findings.work.pairs, 0)
})

t.test('without a block that both sides met there is no ratio', async (t) => {
  const plan = { ...PLAN, blocks: 2 }
  const invalid = (/** @type {any} */ { experiment }) => /^ramp\/0\/a:|^ramp\/1\/b:/.test(experiment)
  const findings = findingsOf(plan, runOf(plan, { a: service(200, 20), b: service(400, 20) }, { invalid }))
  t.match(sentencesOf(plan, findings).join('\n'), /is not known: no block has both\./)
})

t.test('a generator is full by the cores that its threads can use', async (t) => {
  const share = (/** @type {number | undefined} */ threads) => {
    const probes = { generator: { cpu_core_ratio: 0.9, run_delay_ratio: 0.1, cores: '0-3' } }
    return generatorShare(/** @type {any} */ ({ traffic: { threads }, probes }))
  }
  t.equal(share(1), 1, 'wrk with a number of workers that does not divide by the cores')
  t.equal(share(2), 0.5)
  t.equal(share(8), 0.25)
  t.equal(share(undefined), 1, 'a driver that is one process')
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

t.test("the lab's own disks and memory are those of a side only where it is here", async (t) => {
  const kernel = (/** @type {number} */ bytes) => {
    return { disk: { read_bytes: 0, written_bytes: bytes, busy_ratio: 0.5 }, memory_available_bytes: 2 ** 30 }
  }
  const report = (/** @type {Record<string, string>} */ kinds) => {
    const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { noise: 0 }).map((record) => {
      const { cell, traffic, probes } = record
      const bytes = traffic.completed * (cell === 'a' ? 1000 : 3000)
      return { ...record, target: { kind: kinds[cell] }, probes: { ...probes, kernel: kernel(bytes) } }
    })
    const run = { plan: PLAN, argv: [], run_id: 'x', started_at: '', machine: {}, versions: {} }
    return rampReport(run, records)
  }
  const here = report({ a: 'local', b: 'local' })
  t.match(here, /\| disk, B to A.*\| +3\.00x \|/, 'by request, though B answered twice as many')
  t.match(here, /free memory/)
  const elsewhere = report({ a: 'url', b: 'url' })
  t.match(elsewhere, /\| disk, B to A.*\| +– \|/)
  t.notMatch(elsewhere, /free memory|disk busy/)
})

t.test('the writes beside a trial end with it, and are numbered as it is', async (t) => {
  /** @type {string[]} */
  const emails = []
  const url = await httpServer(t, async (req, res) => {
    emails.push(JSON.parse(Buffer.concat(await req.toArray()).toString()).email)
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const plan = { ...PLAN, background_rps: 100, duration_s: 60, timeout_s: 5 }
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 7 }
  for (const trial of [3, 4]) {
    const { disturb } = withBackground(openUrl(url), plan, /** @type {any} */ (mix), new AbortController().signal)
    const calm = await disturb?.({ pid: 0 }, 'ramp/0/a:client:all/8', trial)
    const beside = await calm?.()
    t.ok(beside && beside.planned > 0 && beside.planned < 1000 && beside.ok === beside.planned, JSON.stringify(beside))
  }
  t.equal(new Set(emails).size, emails.length, 'no email twice, though the side was opened again')
  t.ok(emails.some((email) => email.includes('-3-')) && emails.some((email) => email.includes('-4-')))
})

t.test('a disturbance that fails to end leaves no generator', async (t) => {
  const url = await httpServer(t, created)
  let pid = 0
  const disturb = async (/** @type {{ pid: number }} */ generator) => {
    pid = generator.pid
    return async () => {
      throw new Error('it does not end')
    }
  }
  const setup = { target: { ...openUrl(url), disturb }, database: null, slo: PLAN.slo, runId: 'x', experiment: 'x' }
  const plan = {
    trial: 1,
    driver: 'client',
    loop: 'closed',
    rate_rps: null,
    connections: 1,
    warmup_s: 0,
    duration_s: 0.1,
  }
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 7 }
  const trial = /** @type {any} */ ({ ...plan, mix, timeout_s: 5 })
  const running = runTrial({ ...setup, cell: null }, trial, new AbortController().signal, () => {})
  await t.rejects(running, { message: 'it does not end' })
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test('what B costs for the same work is a verdict only with an interval', async (t) => {
  const text = (/** @type {number} */ blocks) => {
    const plan = { ...PLAN, blocks, prices: { a: price(0.192), b: price(0.312) } }
    const records = runOf(plan, { a: service(200, 20), b: service(400, 20) }, { noise: 0.01 })
    return sentencesOf(plan, findingsOf(plan, records)).join('\n')
  }
  t.match(text(8), /The same work on B costs 0\.8\d \[0\.\d\d–0\.\d\d\]x of what it costs on A: cheaper\./)
  t.match(text(3), /The same work on B costs 0\.8\dx of what it costs on A \(too few blocks for an interval\)\./)
})

t.test('an invalid trial is repeated twice at most; its climb then ends, and the others go on', async (t) => {
  const once = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid: (_, number) => number === 3 })
  t.equal(once[3].experiment, once[4].experiment)
  t.equal(findingsOf(PLAN, once).series[0].blocks, 8)
  const bad = (/** @type {any} */ step) => step.experiment.startsWith('ramp/0/a:')
  const lost = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { invalid: bad })
  t.equal(lost.filter(bad).length, 3)
  t.strictSame(
    findingsOf(PLAN, lost).series.map(({ blocks }) => blocks),
    [7, 8],
  )
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) })
  for (const length of [0, 1, 7, 33, records.length - 1]) {
    const { experiment, cell } = records[length]
    t.match(nextStep(PLAN, records.slice(0, length)), { experiment, cell })
  }
  const later = records.filter(({ experiment }) => !experiment.startsWith('ramp/0/'))
  t.ok(later.length / 14 <= 3, `${later.length} trials in 14 later climbs: they begin near the ceiling`)
})

t.test('each request of a mix is screened alone; one is left out', async (t) => {
  const entries = ['create', 'estimate'].map((name) => ({ name, method: 'POST', path: '/', body: '', weight: 1 }))
  const plan = { ...PLAN, blocks: 1, mix: { ...PLAN.mix, entries }, without: [entries[0]], left_out: 'estimate' }
  const slowed = (/** @type {any} */ load) => service(load.mix?.entries.length === 1 ? 1000 : 100, 5)(load)
  const records = runOf(plan, { a: slowed, b: slowed })
  const screens = records.slice(0, 4).map(({ experiment, cell, load }) => [experiment, cell, load.mix.entries.length])
  t.strictSame(screens, [
    ['screen/create', 'a', 1],
    ['screen/estimate', 'a', 1],
    ['screen/create', 'b', 1],
    ['screen/estimate', 'b', 1],
  ])
  t.equal(seriesOf(plan).length, 4)
  const [all, without] = findingsOf(plan, records).series
  t.ok(without.rps.estimate > 8 * all.rps.estimate)
  t.match(sentencesOf(plan, findingsOf(plan, records))[1], /^A, without estimate /)
})

t.test('two drivers agree, or it is said why they do not', async (t) => {
  const plan = { ...PLAN, sides: { a: { url: 'http://a/' } }, drivers: ['autocannon', 'wrk'] }
  const check = (/** @type {any} */ other, blocks = 8) => {
    const records = runOf({ ...plan, blocks }, { 'a:autocannon': service(400, 20), 'a:wrk': other })
    const [agreement] = agreementsOf(plan, records, findingsOf(plan, records))
    return agreementSentence(agreement)
  }
  t.match(
    check(service(400, 20)),
    /wrk and autocannon on A agree within 10 %: wrk's rate at the ceiling is (1\.0|0\.9)/,
  )
  const busy = (/** @type {any} */ load) => ({ ...service(200, 20)(load), generator: 0.97 })
  t.match(
    check(busy),
    /do not agree within 10 %: .* 0\.\d\dx .*wrk used or waited for 97 % of what it may have of the cores: it/,
  )
  const idling = (/** @type {any} */ load) => ({ ...service(200, 20)(load), waits: 0.6 })
  t.match(check(idling), /wrk's workers waited for answers only \d\d % of their time/)
  t.match(check(service(200, 20)), /neither generator was seen at a limit of its own: perhaps they load/)
  t.match(check(service(1e6, 1)), /wrk did not meet the ceiling, 1,000 workers being the most it tried/)
  const unknown =
    /whether wrk and autocannon on A agree within 10 % cannot be told: .* one driver differ by 1\.\d\dx: too few, or/
  t.match(check(service(600, 20), 2), unknown, 'too few blocks')
  t.match(check(service(400, 20), 2), unknown, 'nor do they agree by luck')
  t.match(check(service(440, 20)), unknown, 'the interval holds both')
  const busier = (/** @type {any} */ load) => ({ ...service(440, 20)(load), generator: 0.97 })
  t.notMatch(check(busier), /limited itself/, 'and a gap that may be none has no cause')
})

t.test('workers that always wait for an answer are told from those that do not', async (t) => {
  const share = (/** @type {number} */ completed, /** @type {number} */ sent, success_ratio = 1) => {
    const traffic = { completed, sent, success_ratio, latency_ms: { mean: 100 } }
    return Math.round(100 * waitingShare(/** @type {any} */ ({ load: { connections: 10, duration_s: 1 }, traffic })))
  }
  t.equal(share(105, 105), 100, 'ten workers, ten answers a second each, the last ones after the end')
  t.equal(share(95, 105), 100, 'ten workers, whose last requests were cut off')
  t.equal(share(53, 53), 50)
  t.same(share(53, 53, 0.9), Number.NaN, 'what failed took time, too, which is not of the generator')
  t.same(share(53, 90), Number.NaN, 'nor is what was lost')
})

/** @param {number} per_hour @param {number} [storage_gb] */
function price(per_hour, storage_gb = 0) {
  return { per_hour, storage_gb, per_gb_month: 0.1 }
}

t.test('the published cost, from its inputs: 18.75 %, not 23 %', async (t) => {
  const { cost } = PUBLISHED
  const { machines, withStorage, withRoots } = publishedCost()
  const near = (/** @type {number} */ a, /** @type {number} */ b, within = 1e-9) =>
    t.ok(Math.abs(a - b) <= within, `${a}, ${b}`)
  near(machines.saved_per_hour, cost.saved_per_hour)
  near(machines.saved_ratio, 0.1875)
  near(machines.saved_ratio, 0.072 / 0.384)
  near(machines.surcharge_ratio, cost.headline_ratio, 0.005)
  t.not(
    Math.round(machines.saved_ratio * 100),
    Math.round(cost.headline_ratio * 100),
    'the headline is of the other price',
  )
  near(machines.saved_per_month, cost.saved_per_month, 3)
  near(withStorage.saved_per_month - machines.saved_per_month, cost.storage_per_month)
  near(withStorage.saved_per_month, cost.saved_with_storage_per_month, 3)
  near(withRoots.saved_per_month, cost.saved_with_roots_per_month, 3)
  near(replacement(price(0.192), price(0.312), 2).saved_per_hour, 0.072)
})

t.test('a price and a rate give the cost of a million requests', async (t) => {
  const million = costPerMillion(price(0.36), { estimate: 100, low: 50, high: 200 })
  t.strictSame(million, { estimate: 1, low: 0.5, high: 2 }, '0.36 an hour are 0.0001 a second')
  t.ok(Math.abs(perHour(price(0.192, 730)) - 0.292) < 1e-12)
  const twice = costRatio(price(1), price(2), { estimate: 2, low: 1, high: 4 })
  t.strictSame(twice, { estimate: 1, low: 0.5, high: 2 })
  t.equal(PRICE.parse('0.192/h'), 0.192)
  for (const wrong of ['0.192', '0/h', '-1/h', '1/m', '1e3/h']) t.equal(PRICE.parse(wrong), undefined, wrong)
  t.strictSame(STORAGE.parse('1100GBx0.10'), { storage_gb: 1100, per_gb_month: 0.1 })
  for (const wrong of ['1100x0.1', 'GBx0.1', '5GB', '5GBx']) t.equal(STORAGE.parse(wrong), undefined, wrong)
})

t.test('disks: whole ones are summed up, the busiest counts', async (t) => {
  const text = (/** @type {number[]} */ [read, written, busy]) =>
    [
      `   8       0 sda 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9 0 0 0 0 0 0`,
      `   8       1 sda1 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9 0 0 0 0 0 0`,
      ` 259       0 nvme0n1 9 9 100 9 9 9 ${written} 9 0 10 9`,
      `   7       0 loop0 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9`,
      ` 253       0 dm-0 9 9 ${read} 9 9 9 ${written} 9 0 ${busy} 9`,
    ].join('\n')
  const disks = (/** @type {number[]} */ values) => parseDisks(text(values), (name) => name !== 'sda1')
  t.strictSame(Object.keys(disks([0, 0, 0])), ['sda', 'nvme0n1'])
  t.strictSame(diskUse(disks([0, 0, 0]), disks([2, 10, 500]), 1000), {
    read_bytes: 1024,
    written_bytes: 10_240,
    busy_ratio: 0.5,
  })
})

t.test('what a closed loop left with the target in its warm-up is waited for', async (t) => {
  const closed = /** @type {const} */ ({ loop: 'closed', timeout_s: 10 })
  t.equal(leftOver_s(closed, { sent: 100, completed: 60, goodput_rps: 80 }), 0.5)
  t.equal(leftOver_s(closed, { sent: 100, completed: 100, goodput_rps: 80 }), 0)
  t.equal(leftOver_s(closed, { sent: 100, completed: 0, goodput_rps: 0 }), 3)
  t.equal(leftOver_s({ ...closed, loop: 'open' }, { sent: 100, completed: 60, goodput_rps: 80 }), 0)
})

t.test('a driver whose tool is missing is named with what installs it, and the others go on', async (t) => {
  const driver = (/** @type {string} */ name, missing = false) => {
    const check = () => {
      if (missing) throw new UsageError(`expected ${name} on PATH, found none: apt-get install ${name}`)
    }
    return { name, check, version: async () => '1' }
  }
  const all = { autocannon: driver('autocannon'), client: driver('client'), wrk: driver('wrk', true) }
  const present = (/** @type {string[]} */ drivers, cross_checks = false) => {
    return presentDrivers({ ...PLAN, drivers, cross_checks }, /** @type {any} */ (all))
  }
  const missing = ['expected wrk on PATH, found none: apt-get install wrk']
  t.strictSame(await present(['autocannon']), { drivers: { autocannon: '1' }, missing: [] })
  t.strictSame(await present(['wrk', 'client']), { drivers: { client: '1' }, missing })
  t.strictSame(await present(['autocannon', 'wrk'], true), { drivers: { autocannon: '1', client: '1' }, missing })
  await t.rejects(present(['wrk']), { message: /apt-get install wrk/ })
  t.strictSame(chosenDrivers({ 'cross-check': true }, []), ['autocannon', 'wrk'])
  t.strictSame(chosenDrivers({}, [{ url: 'https://a/', file: null }]), ['client'])
})

/** Answers so many requests at once, each in 20 ms. @param {number} slots @returns {import('node:http').RequestListener} */
function limited(slots) {
  /** @type {(() => void)[]} */
  const waiting = []
  let free = slots
  const start = () => {
    for (; free > 0 && waiting.length > 0; free--) {
      const answer = /** @type {() => void} */ (waiting.shift())
      setTimeout(() => {
        answer()
        free++
        start()
      }, 20)
    }
  }
  return (req, res) => {
    waiting.push(() => created(req, res))
    start()
  }
}

t.test('two services of somebody else, of which one does eight times the work', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const [a, b] = [await httpServer(t, limited(1)), await httpServer(t, limited(8))]
  const sides = ['--a', `${a}?token=hunter2`, '--b', `${b}?token=hunter2`]
  const prices = ['--price-a', '0.192/h', '--price-b', '0.312/h', '--storage-a', '1100GBx0.10']
  // Far apart, and in times far above a stall, so that other tests which have the cores do not decide.
  const flags = ['--latency-ceiling', '160ms', '--blocks', '2', '--duration', '600ms', '--quick', '--out', out]
  const { status, stdout, stderr } = await runVerb('ramp', [...sides, ...prices, ...flags])
  t.equal(status, 0, stderr)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /of A do the work of one B at the ceiling \(too few blocks for an interval\)/)
  t.match(report, /per million requests/)
  t.match(stdout, /of A do the work of one B/)
  t.match(report, `A (${a}?token=(withheld))`)
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
  const { ramp } = readRun(out)
  t.ok(ramp.work.ratio > 3 && ramp.work.ratio < 20, `${ramp.work.ratio}`)
  t.ok(ramp.cost.a.estimate > ramp.cost.b.estimate)
  t.match(report, /"Optimizing Performance and Cost: Infura Benchmark Analysis"/)
  t.match(report, /18\.75 % of what the two cost; the headline of 23 %/)
})

t.test('the local API with writes beside it', async (t) => {
  const embedded = await newDatabase(t)
  const folder = temporaryFolder(t)
  writeFileSync(path.join(folder, 'a.env'), 'INSERT_MODE=single\n')
  const out = path.join(folder, 'run')
  const mix = path.join(folder, 'mix.json')
  const create = { name: 'create', path: '/user', body: { email: '{{seq}}@redline.test', password: 'hunter2' } }
  writeFileSync(mix, JSON.stringify([create, { name: 'describe', path: '/openapi.json' }]))
  const load = [
    '--mix',
    mix,
    '--without',
    'describe',
    '--background',
    '50',
    '--latency-ceiling',
    '1s',
    '--max-workers',
    '4',
    '--driver',
    'client',
  ]
  const flags = ['--a', path.join(folder, 'a.env'), '--blocks', '1', '--duration', '300ms', '--quick', '--out', out]
  const { status, stdout, stderr } = await runVerb('ramp', [...flags, ...load, '--json'], {
    ...process.env,
    DATABASE_URL: embedded.url,
  })
  t.equal(status, 0, stderr)
  t.match(JSON.parse(stdout), { verb: 'ramp', ramp: { series: [{ blocks: 0, furthest: { workers: 4 } }] } })
  const trials = readTrials(out)
  t.strictSame(trials.map(({ experiment }) => experiment).sort(), [
    ...['ramp/0/a:client:all/4', 'ramp/0/a:client:without/4', 'screen/create', 'screen/describe'],
  ])
  const [record] = trials
  t.match(record, { settings: { INSERT_MODE: 'single', BACKGROUND_RPS: 50 }, traffic: { rows_stored: null } })
  t.equal(record.beside.offered_rps, 50)
  t.ok(record.beside.planned >= 50 * (0.3 + 0.3), 'warm-up and rung, to their end')
  t.ok(record.beside.ok > 0, JSON.stringify(record.beside))
  t.ok(record.probes.postgres.connections > 0, 'Postgres is watched all the same')
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /Writes beside it: 50\/s, of which/)
  t.match(report, /\| A: describe +\| +4 \|/)
  t.match(report, /\| A, 4: create +\|.* \d\.\d\dx \|$/m)
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'hunter2', file)
  const resumed = await runVerb('ramp', ['--resume', out], { ...process.env, DATABASE_URL: embedded.url })
  t.equal(resumed.status, 0, `${resumed.stderr}: the mix comes from its file again`)
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--price-b', '1/h'], /--price-b: requires --b/],
    [['--storage-a', '1GBx1'], /--storage-a: requires --price-a/],
    [['--driver', 'paced'], /--driver: expected one or more of .*autocannon/],
    [['--a', 'nowhere.env'], /--a: expected .* got "nowhere.env"/],
    [['--a', 'https://127.0.0.1:1/', '--driver', 'autocannon'], /cannot do https/],
  ]
  for (const [flags, message] of wrong) {
    const { status, stderr } = await runVerb('ramp', flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
