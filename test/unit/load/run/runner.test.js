import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { COLD_WARMUP_S } from '../../../../load/capacity/ladder.js'
import { NotApplied, ServiceEnded, UsageError } from '../../../../load/command/errors.js'
import { Results } from '../../../../load/run/results.js'
import { sweep } from '../../../../load/verbs/sweep/sweep.js'
import { DatabaseError } from '../../../../sql/database.js'
import { overload } from '../../../../tuning/experiments/overload/overload.js'
import { tune } from '../../../../tuning/experiments/tune/tune.js'
import { createService } from '../../../support/simulated/service.js'
import { answerOf, differs, memoryFolder, simulate } from '../../../support/simulated/verb.js'

const LADDER = ['--rates', '1000,2000,3000,4000', '--seed', '1']
const serve = createService({ capacity_rps: 10_000, noise: 0.01 })

/** What others did to the service's core, in a trial that is late for it. */
const NOISY = { p99_ms: 500, kernel: { cores: { 0: { busy_ratio: 1, interrupts_ratio: 0, steal_ratio: 0.3 } } } }

/** @param {any} t */
function newFolder(t) {
  return path.join(memoryFolder(t), 'run')
}

/** @param {any} t @param {string} folder of a ladder that was cut off */
async function goesOn(t, folder) {
  const whole = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve)
  t.equal(whole.code, 0, whole.end)
  t.equal(whole.records.length, 4)
  const found = await simulate(sweep, ['--resume', folder], serve)
  t.equal(found.code, 0, found.end)
  t.equal(differs(found.records, whole.records), null)
  t.strictSame(answerOf(found.run), answerOf(whole.run))
}

/** @type {[string, Error, RegExp][]} */
const DEATHS = [
  [
    'a service that dies',
    new ServiceEnded('the API', 1, null, 'out of memory'),
    /the API ended unexpectedly \(code 1\)/,
  ],
  ['a generator that ends', new Error("the generator's process ended (SIGKILL)"), /the generator's process ended/],
]

for (const [what, error, message] of DEATHS) {
  for (const at of [1, 3]) {
    t.test(`${what} in trial ${at}: exit 1, what was measured is kept, and the run can go on`, async (t) => {
      const folder = newFolder(t)
      const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => {
        if (started === at) throw error
      }
      const found = await simulate(sweep, [...LADDER, '--out', folder], serve, { lab: { onTrial } })
      t.equal(found.code, 1)
      t.match(found.end, /^redline: no trustworthy answer: the run broke off: /)
      t.match(found.end, message)
      t.equal(found.records.length, at - 1)
      t.strictSame([found.run.interrupted, found.log.open, found.log.sites], [false, 0, 0])
      await goesOn(t, folder)
    })
  }
}

t.test('a run that is over, and is only analysed again, keeps the time at which it ended', async (t) => {
  const folder = newFolder(t)
  const { run } = await simulate(sweep, [...LADDER, '--out', folder], serve)
  const openSite = async () => {
    throw new Error('nothing is to be opened')
  }
  const later = /** @type {any} */ ({ lab: { start_ms: Date.parse('2099-01-01') }, openSite })
  const again = await simulate(sweep, ['--resume', folder], serve, later)
  t.match(run.finished_at, /^20[0-8]/)
  t.strictSame([again.code, again.run.finished_at], [0, run.finished_at])
  t.strictSame(again.run.versions, run.versions)
  t.strictSame(answerOf(again.run), answerOf(run))
})

t.test('resuming a run that lacks only a cell that could not be applied measures nothing', async (t) => {
  const folder = newFolder(t)
  const onOpen = (/** @type {any} */ cell) => {
    if (cell.POOL_MAX === 20) throw new NotApplied('no more')
  }
  const argv = ['--knob', 'POOL_MAX=5,20,40', '--capacity', '1000', '--blocks', '2', '--out', folder]
  const { run } = await simulate(tune, argv, serve, { lab: { onOpen } })
  const openSite = async () => {
    throw new Error('nothing is to be opened')
  }
  /** @type {any[]} */
  const asked = []
  const verb = {
    ...tune,
    design: (/** @type {any} */ plan, /** @type {any} */ records, /** @type {any} */ notApplied) => {
      asked.push(tune.design(plan, records, notApplied))
      return asked.at(-1)
    },
  }
  const again = await simulate(verb, ['--resume', folder], serve, /** @type {any} */ ({ openSite }))
  t.equal(again.code, 0, again.end)
  t.strictSame(asked, [null])
  t.strictSame(answerOf(again.run), answerOf(run))
})

t.test('a search starts its target again for the edges, and leaves none running', async (t) => {
  const { code, end, log } = await simulate(sweep, ['--no-confirm', '--seed', '1', '--out', newFolder(t)], serve)
  t.equal(code, 0, end)
  t.strictSame(log.opened, [null, null], 'at first, and for the edges')
  t.equal(log.open, 0)
})

/** @type {[string, Error, number, RegExp][]} */
const REFUSALS = [
  ['a wrong configuration', new UsageError('POOL_MAX: expected 1 to 10000, got 0'), 2, /^redline: POOL_MAX: expected/],
  ['a service that ended', new ServiceEnded('the API', 2, null, 'oops'), 1, /^redline: the API ended unexpectedly/],
]

for (const [what, error, code, message] of REFUSALS) {
  t.test(`${what} when it opens: exit ${code}, nothing is left, the same folder can be asked for again`, async (t) => {
    const folder = newFolder(t)
    const onOpen = () => {
      throw error
    }
    const found = await simulate(sweep, [...LADDER, '--out', folder], serve, { lab: { onOpen } })
    t.equal(found.code, code)
    t.match(found.end, message)
    t.strictSame([found.log.open, found.log.sites], [0, 0])
    t.notOk(fs.existsSync(folder))
    t.equal((await simulate(sweep, [...LADDER, '--out', folder], serve)).code, 0)
  })
}

t.test('a run whose database cannot be reached is not resumed, and stays as it is', async (t) => {
  const folder = newFolder(t)
  await simulate(sweep, [...LADDER, '--out', folder], serve, { interruptAfter: 2 })
  const file = path.join(folder, 'run.json')
  fs.writeFileSync(file, JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), warnings: ['a warning'] }))
  const before = fs.readFileSync(file, 'utf8')
  const openSite = async () => {
    throw new DatabaseError('nobody listens')
  }
  const lab = /** @type {any} */ ({ openSite })
  const found = await simulate(sweep, ['--resume', folder], serve, lab)
  t.equal(found.code, 2)
  t.match(found.end, /^redline: nobody listens/)
  t.equal(fs.readFileSync(file, 'utf8'), before)
})

t.test('a run that goes on with another version says from which trial on', async (t) => {
  const folder = newFolder(t)
  const { run } = await simulate(sweep, [...LADDER, '--out', folder], serve, { interruptAfter: 2 })
  const { machine, versions, database, slo } = run
  const describeRun = async () => ({
    ...{ machine, database, slo, warnings: [] },
    versions: { ...versions, redline_commit: 'another', postgres: '18.1' },
  })
  const { code, run: again } = await simulate(sweep, ['--resume', folder], serve, /** @type {any} */ ({ describeRun }))
  t.equal(code, 0)
  t.strictSame(again.warnings, [
    'trials from 3 on were measured by other versions than those before: another instead of simulated',
  ])
})

t.test('a run does not go on in another database, nor on another machine', async (t) => {
  const folder = newFolder(t)
  const { run } = await simulate(sweep, [...LADDER, '--out', folder], serve, { interruptAfter: 2 })
  const { machine, versions, database, slo } = run
  const resumed = async (/** @type {object} */ place) => {
    const describeRun = async () => ({ machine, versions, database, slo, warnings: [], ...place })
    return simulate(sweep, ['--resume', folder], serve, /** @type {any} */ ({ describeRun }))
  }
  const elsewhere = await resumed({ database: { ...database, kind: 'given', version: '17.2' } })
  t.equal(elsewhere.code, 2)
  t.match(
    elsewhere.end,
    /expected the database of the run \(embedded, Postgres 18\), got given, Postgres 17: give --database-url embedded$/,
  )
  const newer = await resumed({ database: { ...database, version: '19.1' } })
  t.match(newer.end, /got embedded, Postgres 19: begin a new run$/)
  const other = await resumed({ machine: { ...machine, cores: 8 } })
  t.strictSame([other.code, other.end], [2, 'redline: --resume: expected cores=2, as when the run began, got cores=8'])
  await goesOn(t, folder)
})

t.test('an error before the first trial is reported as it is, not as a missing file', async (t) => {
  const folder = newFolder(t)
  const spoilers = async () => {
    throw new Error('the connection was lost')
  }
  const found = await simulate(sweep, [...LADDER, '--out', folder], serve, /** @type {any} */ ({ spoilers }))
  t.match(found.stderr, /the connection was lost/)
  t.notMatch(found.stderr, /ENOENT/)
  t.notOk(fs.existsSync(folder))
})

t.test('Ctrl-C while the target opens: exit 130, and nothing is left', async (t) => {
  const folder = newFolder(t)
  const onOpen = (/** @type {unknown} */ _, /** @type {number} */ __, /** @type {() => void} */ interrupt) => {
    interrupt()
    throw new NotApplied('cut off')
  }
  const { code, log } = await simulate(sweep, [...LADDER, '--out', folder], serve, { lab: { onOpen } })
  t.equal(code, 130)
  t.equal(log.sites, 0)
  t.notOk(fs.existsSync(folder))
})

t.test(
  'an interrupted search without an answer says that it was interrupted; one with an answer has no problem',
  async (t) => {
    const folder = newFolder(t)
    const early = await simulate(sweep, ['--seed', '1', '--out', folder], serve, { interruptAfter: 8 })
    const { answer, problem, interrupted, capacity } = early.run
    t.strictSame([early.code, answer, problem, interrupted], [130, 'none', 'the run was interrupted', true])
    t.match(capacity, { high_rps: null }, 'what was found so far is kept')
    const whole = await simulate(sweep, ['--resume', folder], serve)
    t.match(whole.run, { answer: 'interval', problem: null, interrupted: false })
    const late = await simulate(sweep, ['--seed', '1', '--out', newFolder(t)], serve, { interruptAfter: 14 })
    t.match(late.run, { answer: 'interval', problem: null, interrupted: true })
  },
)

t.test('what a verb keeps open for further cells is closed before the bench, also after Ctrl-C', async (t) => {
  for (const interruptAfter of [undefined, 2]) {
    /** @type {any[]} */
    const closed = []
    const verb = { ...sweep, close: async (/** @type {any} */ place) => void closed.push(place.logFile) }
    const folder = newFolder(t)
    const { log } = await simulate(verb, [...LADDER, '--out', folder], serve, { interruptAfter })
    t.strictSame(closed, [path.join(folder, 'api.log')])
    t.equal(log.sites, 0)
  }
})

t.test('what is prepared before the first trial is in run.json, and is not prepared again', async (t) => {
  let prepared = 0
  const verb = {
    ...sweep,
    prepare: async (/** @type {any} */ _, /** @type {any} */ { run }) =>
      run.found ? undefined : { found: ++prepared },
  }
  const folder = newFolder(t)
  const cut = await simulate(verb, [...LADDER, '--out', folder], serve, { interruptAfter: 2 })
  const { code, run } = await simulate(verb, ['--resume', folder], serve)
  t.strictSame([cut.code, code, cut.run.found, run.found, prepared], [130, 0, 1, 1, 1])
  const failing = {
    ...sweep,
    prepare: async () => {
      throw new UsageError('not so')
    },
  }
  const other = newFolder(t)
  t.match(await simulate(failing, [...LADDER, '--out', other], serve), { code: 2, end: 'redline: not so' })
  t.notOk(fs.existsSync(other))
})

t.test('a plan is made of the flags and the settings of the API', async (t) => {
  const verb = {
    ...sweep,
    plan: (/** @type {any} */ given, /** @type {any} */ { POOL_MAX }) => ({ ...sweep.plan(given, {}), POOL_MAX }),
  }
  const { run } = await simulate(verb, [...LADDER, '--out', newFolder(t)], serve, { env: { POOL_MAX: '7' } })
  t.equal(run.plan.POOL_MAX, '7')
})

t.test('a limit that cannot be relaxed is left alone, and said', async (t) => {
  const pool = createService({ capacity_rps: 5000, limit: 'pool-size' })
  const onOpen = (/** @type {string | null} */ cell) => {
    if (cell !== null) throw new NotApplied('Postgres has no more')
  }
  const { code, run } = await simulate(sweep, ['--seed', '1', '--out', newFolder(t)], pool, { lab: { onOpen } })
  t.equal(code, 0)
  t.strictSame(run.not_applied, [{ cell: { POOL_MAX: 80 }, because: 'Postgres has no more' }])
  t.match(run.limit, { resource: 'pool-size', confirmed: null })
})

t.test('a first cell that cannot be set: exit 1, and why', async (t) => {
  const onOpen = () => {
    throw new NotApplied('no prlimit')
  }
  const argv = ['--knob', 'POOL_MAX=5,20', '--out', newFolder(t)]
  const { code, end, run } = await simulate(tune, argv, serve, { lab: { onOpen } })
  t.equal(code, 1)
  t.match(end, /^redline: no trustworthy answer: the anchor \(POOL_MAX=5\) has no capacity/)
  t.strictSame(run.not_applied, [{ cell: { POOL_MAX: 5 }, because: 'no prlimit' }])
})

t.test('a cell that cannot be set is left out of the matrix; the others are measured', async (t) => {
  const onOpen = (/** @type {any} */ cell) => {
    if (cell.POOL_MAX === 20) throw new NotApplied('no more')
  }
  const argv = ['--knob', 'POOL_MAX=5,20,40', '--capacity', '1000', '--blocks', '2', '--out', newFolder(t)]
  const { code, run, records } = await simulate(tune, argv, serve, { lab: { onOpen } })
  t.equal(code, 0)
  t.strictSame(run.not_applied, [{ cell: { POOL_MAX: 20 }, because: 'no more' }])
  t.strictSame([...new Set(records.map(({ cell }) => cell.POOL_MAX))].sort(), [40, 5])
})

t.test('a design that insists on a cell that cannot be set ends the run', async (t) => {
  const onOpen = (/** @type {any} */ cell) => {
    if (cell.POOL_MAX === 20) throw new NotApplied('no more')
  }
  const deaf = {
    ...tune,
    design: (/** @type {any} */ plan, /** @type {any} */ records) => tune.design(plan, records, []),
  }
  const argv = ['--knob', 'POOL_MAX=5,20,40', '--capacity', '1000', '--blocks', '2', '--out', newFolder(t)]
  const { code, end, run } = await simulate(deaf, argv, serve, { lab: { onOpen } })
  t.equal(code, 1)
  t.match(end, /the run broke off: no more/)
  t.equal(run.not_applied.length, 1)
})

t.test('a full disk: exit 1, in its own words; what was written is kept, and the run can go on', async (t) => {
  const folder = newFolder(t)
  const { appendTrial } = Results.prototype
  t.teardown(() => Object.assign(Results.prototype, { appendTrial }))
  Object.assign(Results.prototype, {
    /** @this {Results} @param {any} record */
    appendTrial(record) {
      if (record.trial === 3) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      appendTrial.call(this, record)
    },
  })
  const found = await simulate(sweep, [...LADDER, '--out', folder], serve)
  t.equal(found.code, 1)
  t.match(
    found.end,
    /^redline: no trustworthy answer: the run broke off: ENOSPC: no space left on device; go on with: /,
  )
  t.equal(found.records.length, 2)
  t.match(found.run.capacity, { low_rps: 2000, trials: 2 }, 'the answer rests on what was written')
  Object.assign(Results.prototype, { appendTrial })
  await goesOn(t, folder)
})

t.test('noise comes in spells: each further trial waits longer, and a quiet one ends the spell', async (t) => {
  const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) =>
    [1, 2, 4].includes(started) ? NOISY : {}
  const { code, records, log } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, { lab: { onTrial } })
  t.equal(code, 0)
  t.strictSame(log.pauses_ms, [2000, 4000, 2000])
  t.strictSame(
    records.map(({ load, outcome }) => [load.rate_rps, outcome.blame ?? outcome.verdict]),
    [
      ...[1000, 1000].map((rate) => [rate, 'noise']),
      ...[
        [1000, 'pass'],
        [2000, 'noise'],
        [2000, 'pass'],
        [3000, 'pass'],
        [4000, 'pass'],
      ],
    ],
  )
})

t.test('a run that waits for a quiet machine names the busiest processes', async (t) => {
  const pause = async () => [
    { name: 'chrome', pid: 4711, core_ratio: 0.412 },
    { name: 'node', pid: 12, core_ratio: 0.09 },
  ]
  const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => (started === 1 ? NOISY : {})
  const options = { lab: { onTrial }, pause }
  const { code, stderr } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, options)
  t.equal(code, 0)
  t.match(stderr, /waiting 2 s\nbusiest meanwhile: chrome \(pid 4711\) 41 %, node \(pid 12\) 9 % of a core\n/)
})

t.test('Ctrl-C while noise is waited out: exit 130, and the noisy trial is kept', async (t) => {
  const controller = new AbortController()
  const folder = newFolder(t)
  const pause = async (/** @type {number} */ _ms, /** @type {AbortSignal} */ signal) => {
    controller.abort(new Error('SIGINT'))
    signal.throwIfAborted()
    return []
  }
  const options = { lab: { onTrial: () => NOISY }, signal: controller.signal, pause }
  const { code, records } = await simulate(sweep, [...LADDER, '--out', folder], serve, options)
  t.equal(code, 130)
  t.equal(records.length, 1)
})

t.test('a load whose trials stay invalid is given up: exit 1, and it is said', async (t) => {
  const onTrial = (/** @type {any} */ { rate_rps }) => (rate_rps === 2000 ? { errors: { 'client:ports': 1 } } : {})
  const { code, end, records } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, { lab: { onTrial } })
  t.equal(code, 1)
  t.equal(
    end,
    "redline: no trustworthy answer: 1 of the loads asked for had no valid trial: 2,000/s (errors that are not the target's: 1 client:ports)",
  )
  t.strictSame(
    records.map(({ load }) => load.rate_rps),
    [1000, 2000, 2000, 2000, 3000, 4000],
  )
})

t.test('rows that were never acknowledged make a trial invalid', async (t) => {
  const onTrial = (/** @type {any} */ _, /** @type {number} */ started) => (started === 1 ? { rows_stored: 2001 } : {})
  const { code, records } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, { lab: { onTrial } })
  t.equal(code, 0)
  t.match(records[0].outcome, { verdict: 'invalid', blame: 'rows', because: /answered 201, 2001 rows were stored/ })
  t.equal(records.length, 5)
})

t.test('a run does not go on under other conditions: exit 2, and what was measured stays', async (t) => {
  const folder = newFolder(t)
  const cut = await simulate(sweep, [...LADDER, '--out', folder], serve, { interruptAfter: 2 })
  t.equal(cut.code, 130)
  const found = await simulate(sweep, ['--resume', folder], serve, { lab: { settings: () => ({ POOL_MAX: 30 }) } })
  t.equal(found.code, 2)
  t.equal(found.end, 'redline: --resume: expected POOL_MAX=20, as when the run began, got POOL_MAX=30')
  t.equal(found.records.length, 2)
  await goesOn(t, folder)
})

t.test('pages that cannot be written lose no answer', async (t) => {
  const writeReport = () => Promise.reject(new Error('no room for a picture'))
  const { code, stderr, run } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, { writeReport })
  t.equal(code, 0)
  t.match(stderr, 'report.html could not be written: no room for a picture\n')
  t.match(run.capacity, { low_rps: 4000, high_rps: null })
})

t.test('--resume with nothing behind it is refused, not a new run', async (t) => {
  const { code, end } = await simulate(sweep, ['--resume', '', ...LADDER], serve)
  t.equal(code, 2)
  t.match(end, /--resume: expected a results folder, got ""/)
})

t.test("a metrics page that cannot be read is said once, in the run's warnings", async (t) => {
  const lab = { onTrial: () => ({ api: { metrics_problem: 'it answered 404' } }) }
  const { run } = await simulate(sweep, [...LADDER, '--out', newFolder(t)], serve, { lab })
  t.strictSame(run.warnings, [
    "the service's metrics page could not be read, so its own figures are missing: it answered 404",
  ])
})

t.test('a search that goes on after an interruption warms its target up like a new one', async (t) => {
  const folder = newFolder(t)
  const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => {
    if (started === 7) throw new Error('the lab stumbled')
  }
  const argv = ['--no-proof', '--seed', '1', '--out', folder]
  const cut = await simulate(sweep, argv, serve, { lab: { onTrial } })
  t.match(cut.end, /the lab stumbled/)
  const { records } = await simulate(sweep, ['--resume', folder], serve)
  const warmups_s = records.map(({ load }) => load.warmup_s)
  t.ok(warmups_s[5] < COLD_WARMUP_S, 'it was warm')
  t.equal(warmups_s[6], COLD_WARMUP_S)
  t.ok(warmups_s[7] < COLD_WARMUP_S, 'and is again')
})

t.test(
  'a target that starts anew amid the trials of a cell, after an interruption, is warmed up as long as the first was',
  async (t) => {
    const folder = newFolder(t)
    const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => {
      if (started === 4) throw new Error('the lab stumbled')
    }
    const cut = await simulate(overload, ['--quick', '--out', folder], serve, { lab: { onTrial } })
    t.match(cut.end, /the lab stumbled/)
    const { records } = await simulate(overload, ['--resume', folder], serve)
    const [, ...loads] = records.map(({ load }) => load.warmup_s)
    t.strictSame(loads, [2, 2, COLD_WARMUP_S, 2, 0.5, 2])
  },
)
