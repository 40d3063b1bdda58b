import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { seededRandom } from '../../../load/random.js'
import { budgetOf, CURRENCIES, speedUp } from '../../../tuning/ablate/budget.js'
import { admit, refusal } from '../../../tuning/ablate/inside/admit.js'
import { inForce, obey, requestBegan, requestEnded } from '../../../tuning/ablate/inside/orders.js'
import { takeTurns } from '../../../tuning/ablate/inside/turns.js'
import { createService, notTaken } from '../../../tuning/ablate/service.js'
import {
  BY_TURNS,
  cellOf,
  cellsOf,
  PLANTED,
  STAGE_NAMES,
  turnsOf,
  WHOLE,
  withoutOf,
} from '../../../tuning/ablate/stages.js'
import { statisticsOf } from '../../../tuning/ablate/statistics.js'
import { consumed, durationOf, nextStep, takenByTurns } from '../../../tuning/ablate/steps.js'
import { ablateText, budgetsOf } from '../../../tuning/ablate/tables.js'
import { conclusionOf, problemOf, publishedVerdict, verdictOf } from '../../../tuning/ablate/verdict.js'
import { planOf } from '../../../tuning/ablate.js'
import { visitsOf } from '../../../tuning/design.js'
import { median } from '../../../tuning/ranks.js'
import { logged, newUser, post } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const PRELOAD = new URL('../../../tuning/ablate/inside/preload.js', import.meta.url).href

/** What each stage costs in a made-up service: nothing, next to nothing, and a lot. */
const COSTS_US = /** @type {Record<string, number>} */ ({
  ...{ log: 15, validate: 0, 'read-and-parse': 8, pool: 4, commit: 0, database: 70, headers: 3 },
  [PLANTED]: 20,
})
const REST_US = 100
const SUM_US = STAGE_NAMES.reduce((sum, stage) => sum + COSTS_US[stage], REST_US)

const PLAN = /** @type {any} */ ({
  ...{ stages: STAGE_NAMES, slow_us: {}, consumers: ['paced', 'autocannon'], rate_rps: 2000 },
  ...{ rounds: 24, blocks: 8, duration_s: 1, mix: { seed: 1 } },
})

const THREE = { ...PLAN, consumers: ['paced', 'autocannon', 'client'] }

/**
 * A run against a service whose requests cost what their stages cost.
 *
 * @param {{ plan?: any, noise?: number, drift?: number, seed?: number, shared_us?: number }} options noise: standard
 *   deviation of a turn and of a trial; drift: of a round and of a block; shared_us: spent as long as one of log and
 *   database is there
 * @returns {any[]}
 */
function runOf({ plan = PLAN, noise = 0.03, drift = 0.2, seed = 1, shared_us = 0 } = {}) {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const cells = turnsOf(plan)
  const own = { ...plan, mix: { seed } }
  /** @type {any[]} */
  const records = []
  /** @type {Record<string, number>} */
  const drifts = {}
  for (let step = nextStep(own, records); step && records.length < 5000; step = nextStep(own, records)) {
    const us = step.cell === BY_TURNS ? SUM_US : costOf(String(step.cell), step.experiment.split('/')[1])
    const rounds = Math.floor((step.load.duration_s * plan.rate_rps) / (turnsIn(cells) * 110)) - 1
    const target = step.cell === BY_TURNS ? { cells, rounds: Array.from({ length: rounds }, roundOf) } : undefined
    records.push({
      ...step,
      outcome: { verdict: 'pass', because: 'made up' },
      probes: { api: { cpu_us_per_request: us }, generator: {}, target },
      traffic: { goodput_rps: 1e6 / us, per_second: [{ ok: 1e6 / us }] },
    })
  }
  return records

  /** @param {unknown} _ @param {number} round */
  function roundOf(_, round) {
    const order = visitsOf({ cells, anchor: WHOLE, blocks: 1, seed: seed + round })
    return order.map(({ cell }) => {
      const us = costOf(cell, `${records.length}/${round}`)
      return [cells.indexOf(cell), us, 2 * us]
    })
  }

  /** @param {string} cell @param {string} spell of the machine */
  function costOf(cell, spell) {
    const without = withoutOf(cell)
    drifts[spell] ??= Math.exp(drift * normal())
    const kept = (/** @type {string} */ stage) => !without.includes(stage)
    const stages_us = STAGE_NAMES.filter(kept).reduce((sum, stage) => sum + COSTS_US[stage], REST_US)
    const planted = Object.keys(plan.slow_us).some(kept) && kept(PLANTED) ? COSTS_US[PLANTED] : 0
    const shared = kept('log') || kept('database') ? shared_us : 0
    return (stages_us + planted + shared) * drifts[spell] * Math.exp(noise * normal())
  }
}

/** In a round. @param {string[]} cells */
function turnsIn(cells) {
  return visitsOf({ cells, anchor: WHOLE, blocks: 1, seed: 0 }).length
}

t.test('without noise each stage costs what it costs, and the budget adds up to the whole', async (t) => {
  const { whole, lines, rest, sum_us, gap } = budgetOf(PLAN, runOf({ noise: 0, drift: 0 }), CURRENCIES.cpu)
  const near = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < 1e-6
  for (const { stage, cost, alone } of lines) {
    t.ok(near(cost.estimate, COSTS_US[stage]) && near(alone.estimate, COSTS_US[stage]), stage)
  }
  t.ok(near(rest.estimate, REST_US) && near(whole.estimate, SUM_US) && near(sum_us, SUM_US))
  t.ok(near(gap.estimate, 0))
})

t.test('what two stages share is a gap that is shown, and the budget adds up all the same', async (t) => {
  const budget = budgetOf(PLAN, runOf({ noise: 0, drift: 0, shared_us: 12 }), CURRENCIES.cpu)
  t.ok(Math.abs(budget.sum_us - budget.whole.estimate) < 1e-6)
  t.ok(Math.abs(budget.gap.estimate - 12) < 1e-6, 'neither of them saves it alone')
})

t.test('the intervals hold the truth in 19 of 20 runs', async (t) => {
  const budgets = Array.from({ length: 150 }, (_, seed) => {
    return budgetOf(PLAN, runOf({ seed, drift: 0 }), CURRENCIES.cpu)
  })
  const lines = budgets.flatMap((budget) => budget.lines)
  const holding = lines.filter(({ stage, cost }) => cost.low <= COSTS_US[stage] && COSTS_US[stage] <= cost.high)
  t.ok(holding.length / lines.length >= 0.94, `${holding.length} of ${lines.length}`)
  // Two visits of 3 % each.
  const noises = budgets.map(({ noise }) => noise.deviation / (0.03 * Math.SQRT2))
  t.ok(Math.abs(median(noises) - 1) < 0.1, `${median(noises)} of the noise there is`)
  const misses = budgets.map(({ whole, sum_us }) => Math.abs(sum_us / whole.estimate - 1))
  t.ok(median(misses) < 0.02, `${median(misses)} of the whole`)
})

t.test('nothing is found where there is nothing, and what is large is found', async (t) => {
  const budgets = Array.from({ length: 30 }, (_, seed) => budgetOf(PLAN, runOf({ seed }), CURRENCIES.cpu))
  const worth = (/** @type {string} */ stage) => {
    return budgets.filter((budget) => {
      const line = budget.lines.find((one) => one.stage === stage)
      return line && verdictOf(line, budget) === 'worth changing'
    }).length
  }
  t.strictSame([worth('validate'), worth('commit')], [0, 0])
  t.equal(worth('database'), 30)
})

t.test('a stage made slower by 20 us on purpose is found as 20 +- 5 us', async (t) => {
  const plan = { ...PLAN, stages: ['validate'], slow_us: { validate: 20 } }
  t.strictSame(cellsOf(plan), [WHOLE, cellOf([PLANTED]), cellOf(['validate'])])
  t.strictSame(
    turnsOf(plan),
    [WHOLE, ...Array(3).fill(cellOf([PLANTED])), cellOf(['validate'])],
    'as often away as there',
  )
  const found = Array.from({ length: 60 }, (_, seed) => budgetOf(plan, runOf({ plan, seed }), CURRENCIES.cpu))
  const right = found.filter(({ planted }) => planted && Math.abs(planted.estimate - 20) <= 5)
  t.ok(right.length >= 57, `${right.length} of 60`)
  const inStage = found.filter(({ lines: [line] }) => Math.abs(line.cost.estimate - 20) <= 5)
  t.ok(inStage.length >= 57, `${inStage.length} of 60 in the stage itself`)
  t.match(ablateText({ plan }, runOf({ plan })), /Planted on purpose: 20 us of CPU in validate\. Found: /)
})

t.test('the conclusion names what is worth changing, what is not, and what became of the published one', async (t) => {
  const records = runOf({})
  const sentence = conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu), CURRENCIES.cpu)
  t.match(sentence, /^CPU of the API per request, \d+ us: worth changing: database \([\d.]+ \[/)
  t.match(sentence, /not worth changing: .*commit/)
  t.match(
    sentence,
    /the rest \(Node's own HTTP, the routes, and the lab's own looks at \/metrics\) takes \d+ us \(\d+ %\)\.$/,
  )
  t.match(publishedVerdict(PLAN, records), [/Not so here: .*database \(autocannon: 1\.\d\dx/])
  const alone = { ...PLAN, stages: ['validate', 'commit'] }
  t.match(publishedVerdict(alone, runOf({ plan: alone, noise: 0.01 })), [/The same here/])
  t.match(publishedVerdict(PLAN, runOf({ plan: { ...PLAN, blocks: 1 } })), [/Too few blocks here to say/])
  t.strictSame(publishedVerdict({ ...PLAN, consumers: ['paced'] }, records), [])
  t.match(conclusionOf(budgetOf(PLAN, [], CURRENCIES.cpu), CURRENCIES.cpu), /nothing was measured/)
  const truth = SUM_US / (SUM_US - COSTS_US.database)
  const ups = Array.from({ length: 40 }, (_, seed) => speedUp(runOf({ seed }), 'autocannon', cellOf(['database'])))
  const holding = ups.filter(({ low, high }) => low < truth && truth < high)
  t.ok(holding.length >= 36, `${holding.length} of 40`)
  t.ok(ups.every(({ estimate }) => Math.abs(estimate / truth - 1) < 0.1))
})

t.test('a service that had to wait for its core is said to have waited', async (t) => {
  const records = runOf({})
  const run = { plan: PLAN, warnings: [] }
  t.notMatch(ablateText(run, records), 'waited for its core')
  for (const { probes } of records) probes.api.run_delay_ratio = 0.5
  t.match(ablateText(run, records), 'the API waited for its core 50 % of the time')
})

t.test(
  'the budget comes by turns, then every block has every variant, and a run goes on where it was cut off',
  async (t) => {
    const records = runOf({ plan: THREE })
    const names = records.map(({ experiment }) => experiment)
    t.strictSame(names.slice(0, 3), ['first/by turns/paced', 'turns/paced/0', 'turns/paced/1'])
    t.strictSame(names.slice(3, 5), ['first/whole/autocannon', 'first/whole/client'])
    const own = (/** @type {number} */ block, consumer = 'autocannon') => {
      return records.filter(({ experiment }) => experiment.startsWith(`${consumer}/${block}/`)).map(({ cell }) => cell)
    }
    const cells = cellsOf(PLAN)
    t.equal(cells.length, 14, 'the first of the cumulative ones is a single one')
    for (const block of [0, 7]) t.strictSame([...new Set(own(block))].sort(), [...cells].sort())
    t.notSame(own(0), own(1))
    t.equal(own(0).filter((cell) => cell === WHOLE).length, 3)
    t.strictSame(own(0, 'client'), own(0), 'at the same places for each consumer')
    t.strictSame(own(0, 'paced'), [])
    for (const length of [0, 1, 2, 17, records.length - 1]) {
      t.match(nextStep({ ...THREE, mix: { seed: 1 } }, records.slice(0, length)), {
        experiment: records[length].experiment,
        cell: records[length].cell,
      })
    }
    const lost = records.map((record) => ({ ...record, outcome: { verdict: 'invalid' } }))
    t.equal(nextStep(THREE, [...lost, ...lost]), null, 'what stays invalid is given up')
  },
)

t.test('rounds are about as many as were asked for, at any rate', async (t) => {
  for (const rate_rps of [100, 3000, 20_000]) {
    const plan = { ...PLAN, consumers: ['paced'], rate_rps, rounds: 100 }
    const trials = runOf({ plan }).filter(({ experiment }) => experiment.startsWith('turns/'))
    const seconds = trials.reduce((sum, { load }) => sum + load.duration_s, 0)
    const rounds = (seconds * rate_rps) / (16 * 110)
    t.ok(rounds >= 100 && rounds < 140, `${rounds} at ${rate_rps}/s in ${trials.length} trials`)
  }
})

t.test('a cell that could not be had is asked for no more, and the run says so', async (t) => {
  const notApplied = [{ cell: 'without pool', because: 'no hook' }]
  const records = runOf()
  const others = records.filter(({ cell }) => cell !== 'without pool')
  t.equal(nextStep(PLAN, others, notApplied), null)
  t.match(nextStep(PLAN, others), { cell: 'without pool' })
  t.equal(problemOf(PLAN, others, notApplied), null, 'the budget is there')
  t.match(ablateText({ plan: PLAN, not_applied: notApplied }, others), 'without pool was not measured: no hook')
  const closed = records.filter(({ cell }) => cell !== BY_TURNS)
  t.match(problemOf(PLAN, closed, [{ cell: BY_TURNS, because: 'no hook' }]), /^no round of turns .* counts: no hook$/)
})

t.test('a turn is of its requests alone: those before the change, and the wait for it, are not in it', async (t) => {
  const cells = [WHOLE, 'without log']
  /** @type {string[][]} */
  const changes = []
  let follow = () => {}
  const turns = takeTurns({ cells, requests: 3, seed: 1 }, (without) => {
    changes.push(without)
    return new Promise((resolve) => {
      follow = () => resolve(undefined)
    })
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  /** @type {number[]} */
  const inFlight = []
  const begin = () => void inFlight.push(turns.began())
  const end = () => turns.ended(Number(inFlight.shift()))
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
  const [round] = turns.rounds()
  const order = round.map(([cell]) => cells[cell])
  t.strictSame(order, [WHOLE, 'without log', WHOLE, WHOLE])
  t.ok(round.flat().every((figure) => figure >= 0))
})

t.test('a turn waits for those that came before it, and not for as many that overtook them', async (t) => {
  const cells = [WHOLE, 'without log']
  let changes = 0
  const turns = takeTurns({ cells, requests: 3, seed: 1 }, async () => changes++)
  const fast = async (/** @type {number} */ count) => {
    for (let i = 0; i < count; i++) turns.ended(turns.began())
    await new Promise((resolve) => setImmediate(resolve))
  }
  await fast(0)
  await fast(1)
  const slow = turns.began()
  await fast(2)
  t.equal(changes, 2, 'three requests after the first that ended')
  await fast(10)
  t.equal(changes, 2, 'the slow one is still under way')
  turns.ended(slow)
  await fast(3)
  t.equal(changes, 3)
})

t.test('a request has one end, and none under other orders', async (t) => {
  const { turns: ordered, ...others } = { turns: { cells: [WHOLE], requests: 2, seed: 1 }, without: [], slow_us: {} }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const before = {}
  obey(others)
  requestBegan(before)
  obey({ ...others, turns: ordered })
  await settled()
  requestEnded(before)
  const ask = () => {
    const res = {}
    requestBegan(res)
    // The answer goes out, and the handler returns.
    for (const _ of ['sent', 'done']) requestEnded(res)
  }
  for (let i = 0; i < 40; i++) {
    ask()
    await settled()
  }
  const figures = inForce().rounds.flat()
  t.ok(figures.length > 5)
  // An end too many would leave fewer than none in flight.
  for (const [, , time_us] of figures) t.ok(time_us >= 0, String(time_us))
  obey(others)
})

t.test('an order counts as obeyed when a hook skipped a request', async (t) => {
  const found = (/** @type {any} */ calls) => ({ without: ['pool'], slow_us: {}, rounds: [], calls })
  t.equal(notTaken(['pool'], found({ pool: { skipped: 1, passed: 0 } })), null)
  t.match(notTaken(['pool'], found({})), /without pool, .* did not skip \(0 let through\)/)
  t.match(
    notTaken(['log', 'pool'], found({ log: { skipped: 2, passed: 0 }, pool: { skipped: 0, passed: 1 } })),
    /pool.*1 let/,
  )
  t.equal(notTaken([], found({})), null)
})

t.test('what was not measured is said to be so, and what has too few blocks too', async (t) => {
  const without = (/** @type {string} */ cell) => {
    const records = runOf()
    for (const { probes } of records) {
      const { cells, rounds } = probes.target ?? { cells: [], rounds: [] }
      const kept = rounds.map((/** @type {number[][]} */ round) => round.filter(([i]) => cells[i] !== cell))
      Object.assign(probes, { target: { cells, rounds: kept } })
    }
    return conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu), CURRENCIES.cpu)
  }
  t.match(without('without log+validate'), /not measured: validate, read-and-parse/)
  t.notMatch(without(cellOf(STAGE_NAMES)), /NaN|the rest/)
  const records = runOf()
  for (const { probes } of records) probes.target?.rounds.splice(2)
  const few = conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu), CURRENCIES.cpu)
  t.match(few, /too few rounds to tell: log/)
  t.notMatch(few, 'not settled')
})

t.test('trials in which requests failed or the generator was late do not count', async (t) => {
  const failing = runOf().map((record) => ({ ...record, outcome: { verdict: 'fail', because: '1 of 2 succeeded' } }))
  t.strictSame([...takenByTurns(failing), ...consumed(failing, 'autocannon')], [])
  t.match(problemOf(PLAN, failing, []), /no round of turns with paced that counts: 1 of 2 succeeded/)
  t.equal(nextStep(PLAN, failing), null, 'and are not repeated')
  const late = (/** @type {number} */ p50) => {
    return runOf().map((record) => ({
      ...record,
      probes: { ...record.probes, generator: { lateness_ms: { p50, p95: 5 } } },
    }))
  }
  t.equal(takenByTurns(late(0.6)).length, takenByTurns(runOf()).length)
  t.strictSame(takenByTurns(late(3)), [])
  t.match(problemOf(PLAN, late(3), []), /the generator was 3 ms late at p50/)
  t.match(nextStep(PLAN, late(3)), { experiment: 'first/by turns/paced' }, 'another try')
  t.match(ablateText({ plan: PLAN }, failing), /130 of 130 trials were left out: requests failed in 130/)
})

t.test('where a generator was full, nothing is said of stages', async (t) => {
  const full = (/** @type {string} */ consumer, /** @type {(cell: string) => boolean} */ when = () => true) => {
    return runOf({ plan: THREE }).map((record) => {
      const cpu_core_ratio = record.load.driver === consumer && when(record.cell) ? 0.97 : 0.5
      return { ...record, probes: { ...record.probes, generator: { cpu_core_ratio } } }
    })
  }
  const [verdict, leftOut] = publishedVerdict(THREE, full('client'))
  t.match(verdict, /Not so here: .*database \(autocannon/)
  t.notMatch(verdict, 'client')
  t.match(leftOut, /Left out, since the generator was the limit: log \(client\), validate \(client\)/)
  const alone = { ...THREE, consumers: ['client'] }
  t.match(publishedVerdict(alone, full('client')), [/Nothing can be said of that here/, /the generator was the limit/])
  const fast = publishedVerdict(
    alone,
    full('client', (cell) => cell === 'without database'),
  )
  t.match(fast[1], /the generator was the limit: database \(client\)\.$/)
  t.match(ablateText({ plan: THREE }, full('client')), /\| log +\| +1\.\d\dx .*\| +the generator was the limit \|/)
})

t.test('the time in the API is that of a schedule', async (t) => {
  const closed = { ...PLAN, consumers: ['autocannon'] }
  t.strictSame(Object.keys(budgetsOf(closed, runOf({ plan: closed }))), ['cpu'])
  t.notMatch(ablateText({ plan: closed }, runOf({ plan: closed })), 'Time in the API per request')
  const { time } = budgetsOf(PLAN, runOf({ noise: 0, drift: 0 }))
  t.ok(Math.abs(time.whole.estimate - 2 * SUM_US) < 1e-6)
})

t.test('a short run is short, and a wait is planted where it is one request alone that waits', async (t) => {
  t.ok(durationOf(planOf({ quick: true })) < 110, String(durationOf(planOf({ quick: true }))))
  const slow = { database: 20 }
  t.throws(() => planOf({ slow: { pool: 20 } }, 'batched'), /--slow: expected a stage of each request's own, got pool/)
  t.throws(() => planOf({ slow }, 'batched'), /got database with INSERT_MODE=batched/)
  t.match(planOf({ slow }, 'single'), { slow_us: slow })
  t.match(planOf({ slow: { validate: 20 } }, 'batched'), { slow_us: { validate: 20 }, rounds: 300 })
  t.match(planOf({ slow, rounds: 7 }, 'single'), { rounds: 7 })
})

t.test('statistics are those of whole seconds', async (t) => {
  const trial = (/** @type {number} */ duration_s, /** @type {number[]} */ seconds) => ({
    ...{
      experiment: 'client/0/0',
      cell: WHOLE,
      outcome: { verdict: 'pass' },
      load: { duration_s },
      probes: { generator: {} },
    },
    traffic: { goodput_rps: 700, per_second: seconds.map((ok) => ({ ok })) },
  })
  const records = /** @type {any} */ ([trial(3, [727, 900, 1000, 12]), trial(0.5, [350])])
  const found = statisticsOf(records, 'client', WHOLE)
  t.match(found, { count: 4, min: 700, max: 1000, sum: 3327, mean: 831.75, median: 813.5 })
  t.ok(Math.abs(Number(found?.sd) - 142.94) < 0.01, String(found?.sd))
  t.equal(statisticsOf(records, 'client', cellOf(['log'])), null)
})

t.test('the API with each stage away does what it is said to do', async (t) => {
  const { url } = await newDatabase(t)
  const folder = temporaryFolder(t)
  const logFile = path.join(folder, 'api.log')
  const service = createService({ stages: STAGE_NAMES, slow_us: { log: 20 }, mix: /** @type {any} */ ({ seed: 1 }) })
  t.teardown(() => service.stop())
  const env = { ...process.env, POOL_MAX: '1' }
  const place = { databaseUrl: url, cores: null, allCores: null, env, logFile }
  const open = (/** @type {string[]} */ ...without) => service.open(cellOf(without), place)
  const count = async () => Number((await rows(url, 'SELECT count(*) FROM users'))[0].count)
  const send = async (/** @type {any} */ target, /** @type {unknown} */ body = newUser()) => {
    const answer = await post(target.url, body)
    return { status: answer.status, headers: [...answer.headers.keys()], text: await answer.text() }
  }
  await rows(
    url,
    `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.password := current_setting('synchronous_commit'); RETURN NEW; END $$;
     CREATE TRIGGER tell BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION tell()`,
  )
  const lastCommit = async () => (await rows(url, 'SELECT password FROM users ORDER BY id DESC LIMIT 1'))[0].password

  const whole = await open()
  t.match(whole.settings, { WITHOUT: '', LOG_LEVEL: 'debug', INSERT_MODE: 'prepared' })
  t.match(await send(whole), { status: 201, headers: ['connection', 'content-length', 'content-type', 'date'] })
  t.equal((await send(whole, { email: 'nobody' })).status, 400)
  t.equal(await lastCommit(), 'on')
  await logged(logFile, /"status":201,"msg":"request"/)

  t.match((await open(PLANTED)).settings, { WITHOUT: PLANTED }, 'a wait was asked for, and left out')
  t.equal((await send(await open('log'))).status, 201)
  t.notMatch(readFileSync(logFile, 'utf8'), '"msg":"request"')
  t.equal((await send(await open('validate'), { email: 'nobody', password: 'x' })).status, 201)
  t.equal((await send(await open('read-and-parse'), '{"no')).status, 201)
  t.strictSame((await send(await open('headers'))).headers, ['content-length'])
  t.equal((await send(await open('commit'))).status, 201)
  t.equal(await lastCommit(), 'off')
  t.equal((await send(await open())).status, 201)
  t.equal(await lastCommit(), 'on')

  const before = await count()
  const without = await open('database')
  t.equal(without.countsRows, false)
  t.equal((await send(without)).status, 201)
  t.equal(await count(), before)
  t.equal((await send(await open(...STAGE_NAMES), 'anything')).status, 201)
  t.equal(await count(), before)

  const noPool = await open('pool')
  const stored = await count()
  const release = await blockTable(t, url)
  const sent = Array.from({ length: 3 }, () => send(noPool))
  const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'redline-api'`
  while ((await rows(url, waiting))[0].count < 3) await new Promise((resolve) => setTimeout(resolve, 20))
  await release()
  for (const { status } of await Promise.all(sent)) t.equal(status, 201, 'three at once, with a pool of one')
  t.equal(await count(), stored + 3)
})

t.test('stages can be taken away once, on loopback, by who has the token, and not in production', async (t) => {
  const token = 'a-token'
  const folder = admit(token)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const env = { HOST: '127.0.0.1' }
  const asked = { socket: path.join(folder, 'orders'), token, env }
  const open = mkdtempSync(path.join(os.tmpdir(), 'redline-ablate-'))
  t.teardown(() => rmSync(open, { recursive: true, force: true }))
  chmodSync(open, 0o755)
  /** @type {[object, RegExp][]} */
  const refused = [
    [{ env: { ...env, NODE_ENV: 'production' } }, /NODE_ENV other than production/],
    [{ env: {} }, /HOST to be a loopback address, got none/],
    [{ env: { HOST: '0.0.0.0' } }, /HOST to be a loopback address, got 0\.0\.0\.0/],
    [{ socket: '/orders' }, /a temporary folder for the owner alone/],
    [{ socket: path.join(open, 'orders') }, /a temporary folder for the owner alone/],
    [{ socket: path.join(folder, 'deeper', 'orders') }, /a temporary folder for the owner alone/],
    [{ token: null }, /the token of that folder/],
    [{ token: 'another' }, /the token of that folder/],
  ]
  for (const [change, message] of refused) t.match(refusal({ ...asked, ...change }), message)
  t.equal(refusal(asked), null)
  t.match(refusal(asked), /the token of that folder, which holds once/)
})

t.test('no variable of the environment takes a stage away', async (t) => {
  const server = fileURLToPath(new URL('../../../api/server.js', import.meta.url))
  const folder = mkdtempSync(path.join(os.tmpdir(), 'redline-ablate-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const preload = `${PRELOAD}?socket=${path.join(folder, 'orders')}&token=a-token`
  const env = { ...process.env, HOST: '127.0.0.1', NODE_OPTIONS: `--import=${preload}` }
  const { status, stderr } = spawnSync(process.execPath, [server], { env, encoding: 'utf8', timeout: 10_000 })
  t.match(
    { status, stderr },
    { status: 2, stderr: /^redline: the preload of ablate: expected the token of that folder/ },
  )
  t.strictSame(readdirSync(folder), [], 'nothing listens')
})

t.test('a run from end to end', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--stages',
    'database',
    '--consumers',
    'paced,client',
    '--rounds',
    '6',
    '--blocks',
    '1',
    '--duration',
    '100ms',
  ]
  const { status, stdout, stderr } = await runVerb('ablate', [...flags, '--rate', '1000', '--out', out])
  t.equal(status, 0, stderr)
  t.match(stdout, /CPU of the API per request/)
  t.match(stdout, /\| the rest +\|/)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /\| client +\| count \|/)
  t.match(report, /aptos-node Firehose Throughput Experiment/)
  const trials = readTrials(out)
  t.strictSame([...new Set(trials.map(({ load }) => load.driver))].sort(), ['client', 'paced'])
  for (const { cell, settings, traffic, probes } of trials) {
    if (cell === BY_TURNS) {
      t.equal(settings.WITHOUT, BY_TURNS)
      for (const round of probes.target.rounds) t.equal(round.length, 4, 'the whole three times')
      continue
    }
    t.equal(cellOf(settings.WITHOUT.split(',').filter(Boolean)), cell, 'read back')
    t.equal(traffic.rows_stored, withoutOf(cell).includes('database') ? null : traffic.ok)
  }
  const { whole, lines } = readRun(out).budgets.cpu
  t.ok(whole.pairs >= 4, `${whole.pairs} rounds`)
  t.ok(lines[0].cost.estimate > 0 && lines[0].cost.estimate < whole.estimate)
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--stages', 'log,everything'], /--stages: expected each at most once, of log, validate/],
    [['--consumers', 'paced,paced'], /--consumers: expected each at most once, of paced, autocannon, client/],
    [['--slow', 'validate=20'], /--slow: expected a stage .* got "validate=20"/],
    [['--slow', 'log=20us', '--stages', 'pool'], /--slow: expected one of --stages, got log/],
  ]
  for (const [flags, message] of wrong) {
    const { status, stderr } = await runVerb('ablate', flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
