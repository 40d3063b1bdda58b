import { parse } from 'dotenv'
import t from 'tap'
import { COLD_WARMUP_S } from '../../../../../load/capacity/ladder.js'
import { cellName } from '../../../../../load/report/format.js'
import { markdownOf } from '../../../../../load/report/markdown.js'
import {
  analyseArticle,
  designArticle,
  offeredHere,
  scaleOf,
} from '../../../../../tuning/experiments/tune/article/article.js'
import { byLoadBlocks, effectsByLoad } from '../../../../../tuning/experiments/tune/by-load.js'
import { designMatrix } from '../../../../../tuning/experiments/tune/design.js'
import { recommendationOf } from '../../../../../tuning/experiments/tune/findings.js'
import { enoughOf, GENEROUS_CELL, levelsOf, reasonsOf } from '../../../../../tuning/experiments/tune/limits/needs.js'
import { matrixOf } from '../../../../../tuning/experiments/tune/presets.js'
import { matrixFiles } from '../../../../../tuning/experiments/tune/report.js'
import { tune } from '../../../../../tuning/experiments/tune/tune.js'
import { oneAtATime } from '../../../../../tuning/stats/design.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

t.test('a matrix has as many blocks as an interval needs', async (t) => {
  t.equal(matrixOf([{ name: 'POOL_MAX', levels: [20, 5, 10] }]).blocks, 6)
  t.equal(matrixOf(['POOL_MAX', 'BATCH_SLOTS'].map((name) => ({ name, levels: [1, 2, 3] }))).blocks, 2)
})

const PLAN = /** @type {any} */ ({
  knobs: [
    { name: 'POOL_MAX', levels: [20, 5] },
    { name: 'SEMI_SPACE_MB', levels: [16, 64] },
    { name: 'LOG_LEVEL', levels: ['debug', 'info'] },
  ],
  ...{
    driver: 'paced',
    searches: true,
    capacity_rps: null,
    connections: [64],
    duration_s: 1,
    warmup_s: 0.5,
    blocks: 3,
    mix: { seed: 2 },
    slo: { p99_ms: 100, success_ratio: 1 },
  },
})
PLAN.cells = matrixOf(PLAN.knobs).cells
PLAN.anchor = PLAN.cells[0]

/** A target whose pool decides what gets through, and whose young generation decides the price. */
const serve = createService(({ cell }) => ({
  capacity_rps: cell?.POOL_MAX === 5 ? 500 : 1000,
  limit: 'pool-size',
  cpu_us: cell?.SEMI_SPACE_MB === 64 ? 50 : 100,
}))

/** @param {Parameters<typeof recordsOf>[1]} next @param {any} plan @param {any[]} [notApplied] */
function runOf(next, plan, notApplied) {
  return recordsOf(plan, next, serve, { notApplied })
}

/** A whole run, which several tests read. */
const WHOLE = runOf(designMatrix, PLAN)

t.test('a matrix: the capacity of the anchor, every cell in every block at shares of it, the finalists', async (t) => {
  const records = WHOLE
  const blocks = records.filter(({ at }) => at.phase === 'block')
  t.equal(blocks.length, 3 * (7 + 3) * 3)
  const rates = new Set(blocks.map(({ load }) => load.rate_rps))
  t.equal(rates.size, 3)
  const searched = records
    .filter(({ at }) => at.of === 'final' && at.phase === 'search')
    .map(({ cell }) => cellName(cell))
  t.strictSame([...new Set(searched)], ['POOL_MAX=20 SEMI_SPACE_MB=64 LOG_LEVEL=debug', cellName(PLAN.anchor)])
  for (const length of [0, 5, 40, 80]) {
    t.match(
      designMatrix(PLAN, records.slice(0, length), []),
      { at: records[length].at, cell: records[length].cell },
      'goes on where it was cut off',
    )
  }
})

t.test(
  'recommended: what lets more through, else what costs less; never what is not for speed to decide',
  async (t) => {
    const records = WHOLE
    const { levels, choices } = recommendationOf(PLAN, records)
    t.strictSame(levels, { POOL_MAX: 20, SEMI_SPACE_MB: 64, LOG_LEVEL: 'debug' })
    t.match(choices[1], { by: 'cpu', effect: { tied: false } })
    const machine = { cpu_model: 'a CPU', cores: 2 }
    const run = /** @type {any} */ ({ run_id: 'r', machine, interrupted: false })
    const file = matrixFiles(
      /** @type {any} */ ({ kept: { recommended: levels }, choices, finals: [], fixed: {} }),
      run,
    )['recommended.env']
    t.strictSame(parse(file), { POOL_MAX: '20', LOG_LEVEL: 'debug' })
    t.match(file, /^# Recommended by r on a CPU, 2 cores\./)
    t.match(file, /# SEMI_SPACE_MB=64: node --max-semi-space-size=64/)
  },
)

t.test('settings that hold less within the SLO than the reference are recommended with a warning', (t) => {
  const fileWith = (/** @type {number} */ high_rps) => {
    const finals = [
      { cell: { POOL_MAX: 5 }, capacity: { low_rps: 800, high_rps }, limit: null },
      { cell: { POOL_MAX: 20 }, capacity: { low_rps: 1000, high_rps: 1100 }, limit: null },
    ]
    const findings = { kept: { recommended: { POOL_MAX: 5 } }, choices: [], finals, fixed: {} }
    const run = { run_id: 'r', machine: { cpu_model: 'a CPU', cores: 2 }, interrupted: false }
    return matrixFiles(/** @type {any} */ (findings), /** @type {any} */ (run))['recommended.env']
  }
  t.match(fileWith(999), /^# Within the SLO, the recommended settings sustain a lower rate than the reference\./m)
  t.notMatch(fileWith(1000), 'Within the SLO')
  t.end()
})

t.test('a level with which fewer requests succeed is not recommended for its latency', async (t) => {
  const cells = [20, 5].map((POOL_MAX) => ({ POOL_MAX }))
  const trialOf = (/** @type {any} */ cell, /** @type {number} */ block, /** @type {object} */ traffic) => ({
    at: { phase: 'block', block, kind: 'above' },
    cell,
    outcome: { verdict: 'pass' },
    probes: { api: {} },
    traffic: { goodput_rps: 1000, success_ratio: 1, latency_ms: { p99: 100 }, ...traffic },
  })
  const recommended = (/** @type {number} */ success_ratio, first = success_ratio, p99 = 10) => {
    const records = Array.from({ length: 6 }, (_, block) => [
      trialOf(cells[0], block, {}),
      trialOf(cells[1], block, { success_ratio: block === 0 ? first : success_ratio, latency_ms: { p99 } }),
    ]).flat()
    return recommendationOf({ knobs: [{ name: 'POOL_MAX', levels: [20, 5] }] }, /** @type {any} */ (records)).levels
  }
  t.strictSame(recommended(1), { POOL_MAX: 5 })
  t.strictSame(recommended(1, 1, 98), { POOL_MAX: 20 }, 'nor is it for a gain of two in a hundred')
  t.strictSame(recommended(0.5), { POOL_MAX: 20 })
  t.strictSame(recommended(0.1, 1), { POOL_MAX: 20 }, 'even if one block leaves the loss undecided')
})

t.test('a level whose goodput is unknown, or may be far lower, is not recommended for its CPU', async (t) => {
  /** Levels by pairs under overload, each with the goodput of the level, and six pairs in which its CPU is half. @param {number[]} goodputs_rps */
  const recommended = (goodputs_rps) => {
    const trialOf = (
      /** @type {number} */ POOL_MAX,
      /** @type {object} */ at,
      /** @type {object} */ traffic,
      cpu = 20,
    ) => ({
      at: { phase: 'block', ...at },
      cell: { POOL_MAX },
      outcome: { verdict: 'pass' },
      probes: { api: { cpu_us_per_request: cpu } },
      traffic: { goodput_rps: 1000, success_ratio: 1, latency_ms: { p99: 100 }, ...traffic },
    })
    const above = goodputs_rps.flatMap((goodput_rps, block) => [
      trialOf(20, { block, kind: 'above' }, {}),
      trialOf(5, { block, kind: 'above' }, { goodput_rps }),
    ])
    const below = Array.from({ length: 6 }, (_, block) => [
      trialOf(20, { block, kind: 'below' }, {}),
      trialOf(5, { block, kind: 'below' }, {}, 10),
    ]).flat()
    const records = /** @type {any} */ ([...above, ...below])
    return recommendationOf({ knobs: [{ name: 'POOL_MAX', levels: [20, 5] }] }, records).levels
  }
  t.strictSame(recommended(Array(6).fill(1000)), { POOL_MAX: 5 })
  t.strictSame(recommended(Array(5).fill(500)), { POOL_MAX: 20 }, 'too few pairs are no tie')
  t.strictSame(
    recommended([1001, ...Array(5).fill(500)]),
    { POOL_MAX: 20 },
    'even if one block leaves the loss undecided',
  )
})

t.test('ties are printed as ties', async (t) => {
  const records = WHOLE
  const blocks = tune.report(tune.analyse(PLAN, records, /** @type {any} */ ({})))
  const goodput = blocks.find((block) => block.kind === 'table' && block.head.at(-1) === 'verdict (more is better)')
  const verdicts = /** @type {any} */ (goodput).rows.map((/** @type {string[]} */ row) => [row[0], row.at(-1)])
  t.strictSame(verdicts, [
    ['POOL_MAX=5', 'worse'],
    ['SEMI_SPACE_MB=64', 'tied'],
    ['LOG_LEVEL=info', 'tied'],
  ])
  const picture = /** @type {any[]} */ (blocks).find((block) => block.picture?.name === 'effects-goodput')
  t.match(picture.picture.about, /A tie: the interval contains 1, or the effect is within the noise floor\.$/)
})

t.test(
  'the list says what it leaves out: effects of less than a tenth, which the tables may call better or worse',
  async (t) => {
    const slight = { seen: 'success', level: 4, ratio: 0.92, low: 0.4, high: 0.996, tied: false }
    const loads = /** @type {any} */ ([{ kind: 'above', effects: [slight], lost: {} }])
    const level = { name: 'POOL_MAX', level: 4, reference: 20, loads }
    const text = markdownOf(byLoadBlocks([level], {}))
    t.match(text, '- POOL_MAX: 4 instead of 20: no clear effect of a tenth or more.')
    t.match(text, '0.92x [0.40–0.996]', 'nor does the interval of what is not tied seem to contain 1')
  },
)

t.test('the recommendation says why a level was kept: nothing was better, or speed does not decide', async (t) => {
  const { choices, ...findings } = tune.analyse(PLAN, WHOLE, /** @type {any} */ ({}))
  const kept = ['NOFILE', 'DB_DELAY_MS'].map((name) => ({ name, level: 1, by: null, effect: null }))
  const report = /** @type {any[]} */ (
    tune.report(/** @type {any} */ ({ ...findings, choices: [...choices, ...kept] }))
  )
  const { rows } = report.find(({ kind, name }) => kind === 'table' && name === 'recommended')
  t.strictSame(
    rows.map((/** @type {string[]} */ [knob, , reason]) => [knob, reason]),
    [
      ['POOL_MAX', 'kept: no other level was clearly better'],
      ['SEMI_SPACE_MB', "CPU of the API per request, at half of the anchor's capacity"],
      ['LOG_LEVEL', 'kept: it decides more than speed'],
      ['NOFILE', 'kept: a limit outside the service'],
      ['DB_DELAY_MS', 'kept: not a setting of the service'],
    ],
  )
})

t.test("the report draws a conclusion from Little's law only where the measured ties support it", async (t) => {
  const needs = { capacity_rps: 9709, statement_ms: 0.72, busy: 7, wait_ms: 103, open_files: 1066, nofile: 20_000 }
  const bare = reasonsOf(needs, 1000, null).POOL_MAX
  t.equal(
    bare,
    "By Little's law, 9,709/s x 0.72 ms keeps 7.0 database connections busy on average: with more, requests wait in Postgres instead of in the service.",
  )
  t.equal(
    reasonsOf(needs, 1000, { enough: 15, most: 40 }).POOL_MAX,
    `${bare} No difference between 15 and 40 was measured: 15 seem to be enough here, and 40 do no measurable harm.`,
  )

  const tied = { level: 15, ratio: 0.9, low: 0.7, high: 1.04, tied: true }
  const [unknown, worse] = [
    { ...tied, low: 0, high: Number.POSITIVE_INFINITY },
    { ...tied, high: 0.98, tied: false },
  ]
  const below = { ...tied, level: 3, tied: false }
  const knob = { name: 'POOL_MAX', levels: [40, 15, 3] }
  t.strictSame(enoughOf(knob, 7, [tied, tied, below]), { enough: 15, most: 40 })
  t.equal(enoughOf(knob, 7, [tied, worse]), null)
  t.equal(enoughOf(knob, 7, [tied, unknown]), null)
  t.equal(enoughOf(knob, 7, []), null, 'nothing was measured')
  t.equal(enoughOf({ name: 'POOL_MAX', levels: [40, 3] }, 7, [below]), null, 'no smaller level is enough')
})

/** The picture of the cells in the report of a matrix. @param {any} plan @param {any[]} records */
function cellsPictureOf(plan, records) {
  const blocks = /** @type {any[]} */ (tune.report(tune.analyse(plan, records, /** @type {any} */ ({}))))
  return blocks.find(({ kind, picture }) => kind === 'picture' && picture.name === 'cells').picture
}

t.test('the picture of the cells names the knobs once, and the rows by their levels', async (t) => {
  const { form, about } = cellsPictureOf(PLAN, WHOLE)
  t.equal(form.corner, 'POOL_MAX / SEMI_SPACE_MB / LOG_LEVEL')
  t.strictSame(form.rows.slice(0, 2), ['20 / 16 / debug', '20 / 16 / info'])
  t.match(about, /Rows: POOL_MAX \/ SEMI_SPACE_MB \/ LOG_LEVEL\. /)

  const fixed = {
    ...PLAN,
    knobs: [
      { name: 'POOL_MAX', levels: [20_000, 5] },
      { name: 'DB_DELAY_MS', levels: [5] },
    ],
  }
  const cells = matrixOf(fixed.knobs).cells
  const one = { ...fixed, cells, anchor: cells[0], blocks: 1, searches: false, capacity_rps: 1000 }
  t.strictSame(cellsPictureOf(one, runOf(designMatrix, one)).form.rows, ['the anchor', 'POOL_MAX=5'])
})

t.test('with many knobs, the picture of the cells names what differs from the anchor', async (t) => {
  const knobs = ['A', 'B', 'C', 'D', 'E'].map((name) => ({ name, levels: [1, 2] }))
  const cells = oneAtATime(knobs)
  const findings = tune.analyse(PLAN, WHOLE, /** @type {any} */ ({}))
  const made = cells.map((cell, i) => ({ ...findings.cells[i], cell, is_anchor: i === 0 }))
  const report = /** @type {any[]} */ (tune.report({ ...findings, anchor: cells[0], cells: made }))
  const { picture } = report.find(({ kind, picture }) => kind === 'picture' && picture.name === 'cells')
  t.strictSame(picture.form.rows, ['the anchor', 'A=2', 'B=2', 'C=2', 'D=2', 'E=2'])
  t.equal(picture.form.corner, 'cell')
})

t.test('where the p99 is shown as a ratio, its caption says that errors count', async (t) => {
  const note = /p99 includes errors: where goodput falls, a low p99 means quick failures\./
  t.match(cellsPictureOf(PLAN, WHOLE).about, note)
  const blocks = /** @type {any[]} */ (tune.report(tune.analyse(PLAN, WHOLE, /** @type {any} */ ({}))))
  const abouts = Object.fromEntries(blocks.flatMap(({ picture }) => (picture ? [[picture.name, picture.about]] : [])))
  t.match(abouts['effects-p99'], note)
  t.notMatch(abouts['effects-goodput'], note)
})

t.test('a cell that cannot be had is left out', async (t) => {
  const out = [{ cell: PLAN.cells[3], because: 'no right' }]
  const records = runOf(designMatrix, PLAN, out)
  const others = PLAN.cells.filter((/** @type {any} */ cell) => cell !== PLAN.cells[3]).map(cellName)
  t.strictSame([...new Set(records.map(({ cell }) => cellName(cell)))].sort(), others.sort())
  t.strictSame(runOf(designMatrix, PLAN, [{ cell: PLAN.anchor, because: 'no' }]), [])
})

const ARTICLE = /** @type {any} */ ({ blocks: 6, duration_s: 1, mix: { seed: 1 } })

t.test("the article's rows, by both generators, at the shares of the peak that were published", async (t) => {
  const plan = { ...ARTICLE, blocks: 2 }
  const records = runOf(designArticle, plan)
  t.equal(records.length, 1 + 2 * (16 + 2))
  t.equal(offeredHere(7, 1000), 1000)
  t.equal(offeredHere(2, 1000), 1154)
  t.equal(analyseArticle(plan, records).rows.length, 8)
  const unbounded = records.filter(({ load }) => load.unbounded)
  t.equal(unbounded.length, 16)
  t.ok(unbounded.every(({ load }) => load.driver === 'vegeta'))
  const closed = records.slice(1).filter(({ load }) => load.loop === 'closed')
  t.strictSame([...new Set(closed.map(({ load }) => load.connections))].sort(), [1900, 500])
})

t.test("the article's timeouts are scaled to what its connections can wait for", async (t) => {
  t.equal(scaleOf(8500), 0.025)
  t.equal(scaleOf(1), 1, 'never longer than published')
  const records = runOf(designArticle, { ...ARTICLE, blocks: 1 })
  const scale = scaleOf(records[0].traffic.goodput_rps)
  t.ok(scale < 0.5)
  const [row] = records.filter(({ at }) => at.row === 2 && at.generator === 'paced')
  t.equal(row.cell.POOL_CONNECT_TIMEOUT_MS, Math.round(2000 * scale))
  t.equal(row.load.timeout_s, ARTICLE.duration_s, 'a request has as long as the whole trial, as published')
})

/** Another whole run. */
const WHOLE_ARTICLE = runOf(designArticle, ARTICLE)

/** @param {(record: any) => object} change of each record */
function articleRun(change) {
  return WHOLE_ARTICLE.map((record) => ({ ...record, ...change(record) }))
}

t.test('"more than twice as many" needs twice as many; "20 will do" allows a fifth less', async (t) => {
  const verdictsAt = (/** @type {number[]} */ [longer, smaller]) => {
    const goodputs_rps = [1000, 1000, 1000, 1000 * longer, 1000, 1000, 1000 * longer * smaller, 1000]
    const records = articleRun(({ traffic, at }) => ({ traffic: { ...traffic, goodput_rps: goodputs_rps[at.row] } }))
    const { conclusions } = analyseArticle(ARTICLE, records)
    return [/more than twice/, /20 will do/].map(
      (text) => conclusions.find(({ published }) => text.test(published))?.verdict,
    )
  }
  t.strictSame(verdictsAt([1.9, 0.85]), ['refuted', 'reproduced'])
  t.strictSame(verdictsAt([2.1, 0.75]), ['reproduced', 'refuted'])
})

t.test(
  '"worse because of context switching" needs more switches, a lower goodput, and switches that cost enough',
  async (t) => {
    const foundAt = (/** @type {number} */ switches, /** @type {number} */ goodput, price_us = 50, calm = 3) => {
      const records = articleRun(({ traffic, probes, at }) => {
        const [times, share] = at.sockets === 1900 ? [switches, goodput] : [at.row === 0 ? calm : 1, 1]
        const cpu_us_per_request = 50 + price_us * (times - 1)
        const api = { ...probes.api, context_switches: traffic.ok * times, cpu_us_per_request }
        return { traffic: { ...traffic, goodput_rps: 1000 * share }, probes: { ...probes, api } }
      })
      return analyseArticle(ARTICLE, records).conclusions[4]
    }
    const verdictAt = (/** @type {Parameters<typeof foundAt>} */ ...how) => foundAt(...how).verdict
    t.equal(verdictAt(1.3, 0.8), 'reproduced')
    t.equal(verdictAt(1.3, 1), 'refuted', 'nothing is worse')
    t.equal(verdictAt(1, 0.8), 'refuted', 'something else is the cause')
    const cheap = foundAt(1.3, 0.8, 10)
    t.equal(cheap.verdict, 'refuted', '0.3 more switches of 10 us each do not take a fifth of 50 us')
    t.match(cheap.evidence[1], /^a switch costs at most 10 us .* leave at least 0\.94x \[0\.94–0\.94\] of the goodput/)
    t.equal(verdictAt(1.3, 0.8, 50, 1), 'undecided', 'a price that is not known decides nothing')
  },
)

t.test('its conclusions, tested on trials that are made up', async (t) => {
  const records = articleRun(({ load, traffic, probes, at, limit }) => {
    const unbounded = load.unbounded === true
    const isShort = at.row === 2
    const errors = unbounded ? { 'client:ports': 90, 'server:reset': 10 } : {}
    // With its defaults, vegeta shows the opposite of what the bounded generator does, which decides.
    const success_ratio = unbounded === isShort ? 1 : 0.5
    const context_switches = traffic.ok * (at.sockets === 1900 ? 0.5 : 1)
    return {
      limit: unbounded ? { ...limit, resource: 'generator-ports' } : limit,
      traffic: { ...traffic, status: { 201: 10 }, success_ratio, errors },
      probes: {
        ...probes,
        api: { ...probes.api, cpu_core_ratio: 0.2, context_switches, dropped_connections: unbounded ? 5 : 0 },
      },
    }
  })
  const found = analyseArticle(ARTICLE, records)
  const verdicts = found.conclusions.map(({ verdict }) => verdict)
  t.strictSame(verdicts, [
    ...['reproduced', 'reproduced', 'refuted', 'refuted', 'refuted', 'refuted', 'reproduced', 'refuted'],
  ])
  const [codeZero] = found.conclusions.slice(-1)
  t.match(codeZero.evidence.join('\n'), /^out of files, the service also closed \d+ connections, retries included/m)
  t.match(found.conclusions[4].evidence[0], /^more open sockets relative to fewer: context switches per request 0\.50x/)
  t.match(codeZero.evidence[0], /, 10\.0 % by a reset; [\d,]+ failed because the generator was out of ports$/)
  t.match(
    found.idle,
    /^The article reports failures while the CPU was only 13 % busy \(and the memory 70 % full\)\. Here, in 48 of 48 trials by the generator with its defaults, the generator was the limit \(with bounded connections, the limits in rows 3 to 7 were: 30 × pool-size\), and the service used 20 % to 20 % of its core: \*\*the API idled while the generator broke\.\*\*$/,
  )
  const unmeasured = analyseArticle(ARTICLE, []).conclusions.map(({ verdict }) => verdict)
  t.strictSame(unmeasured, Array(verdicts.length).fill('not measured'))
})

t.test('the sentence that the article needed is not said of a busy service, or a generator that holds', async (t) => {
  const busy = articleRun(({ probes, limit }) => ({
    limit: { ...limit, resource: 'generator-ports' },
    probes: { ...probes, api: { ...probes.api, cpu_core_ratio: 0.9 } },
  }))
  t.equal(analyseArticle(ARTICLE, busy).idle, null)
  const holding = articleRun(({ limit, probes }) => ({
    limit: { ...limit, resource: 'postgres-cpu' },
    probes: { ...probes, api: { ...probes.api, cpu_core_ratio: 0.2 } },
  }))
  t.equal(analyseArticle(ARTICLE, holding).idle, null)
})

/**
 * A run that proves the anchor's limit, of a service with this limit. @param {'api-cpu' | 'pool-size'} limit @param {any[]} [notApplied]
 */
function provenRun(limit, notApplied) {
  const cells = [PLAN.anchor]
  const plan = { ...PLAN, proves: true, enlarges_pool: true, connections_max: 5000, cells, blocks: 1 }
  const records = recordsOf(plan, designMatrix, createService({ capacity_rps: 1000, limit }), {
    notApplied,
    change: (record, { cell }) => ({ ...record, settings: { ...record.settings, ...cell } }),
  })
  return { plan, records, proof: records.filter(({ at }) => at.phase === 'proof') }
}

t.test("the anchor's limit is proven before the matrix begins, and tells which knobs can matter", async (t) => {
  const { plan, records, proof } = provenRun('api-cpu')
  const phases = records.map(({ at }) => at.phase).filter((phase, i, all) => phase !== all[i - 1])
  t.strictSame(phases.slice(-2), ['proof', 'block'])
  t.equal(proof.length, 6)
  t.ok(proof.every(({ at, cell }) => at.of === 'anchor' && cellName(cell) === cellName(PLAN.anchor)))
  for (const one of [proof[0], proof[4], records.at(-3)]) {
    const next = designMatrix(plan, records.slice(0, records.indexOf(one)), [])
    t.strictSame(next?.at, one.at, 'goes on where it was cut off')
  }

  const findings = tune.analyse(plan, records, {})
  t.equal(findings.kept?.elasticities[0].resource, 'api-cpu')
  const blocks = /** @type {any[]} */ (tune.report(findings))
  const [{ text, items }] = blocks[1].items
  t.match(text, /^The anchor, POOL_MAX=20 .*, limit api-cpu \(tuning\/PLAYBOOK\.md#api-cpu\)\.$/)
  t.match(items[0], /^Proof, in throughput \[95 % interval\]: slowing the service by 10 % costs 1\d % \[/)
  t.ok(blocks.some(({ picture }) => picture?.name === 'elasticities'))

  const skipped = tune.analyse(PLAN, WHOLE, {})
  t.notOk(Object.hasOwn(skipped.kept ?? {}, 'elasticities'))
  t.equal(tune.report(skipped)[1].kind, 'heading', 'without a proof, the report does not mention one')
})

t.test('finalists are searched for once more, and not proven', async (t) => {
  const records = runOf(designMatrix, { ...PLAN, proves: true })
  const phasesOf = (/** @type {string} */ of) =>
    new Set(records.filter(({ at }) => at.of === of).map(({ at }) => at.phase))
  t.strictSame([...phasesOf('anchor')], ['plateau', 'search', 'proof'])
  t.strictSame([...phasesOf('final')], ['plateau', 'search'])
})

t.test('an accused pool of the anchor is enlarged, unless it cannot be', async (t) => {
  const larger = { ...PLAN.anchor, POOL_MAX: 80 }
  const { plan, records, proof } = provenRun('pool-size')
  const relaxed = proof.filter(({ at }) => at.relaxed)
  t.strictSame(
    relaxed.map(({ cell, load }) => [cell, load.warmup_s]),
    [COLD_WARMUP_S, 0.5, 0.5, 0.5].map((warmup_s) => [larger, warmup_s]),
  )
  const elasticities = tune.analyse(plan, records, {}).kept?.elasticities
  const pool = elasticities.find((/** @type {any} */ { resource }) => resource === 'pool-size')
  t.strictSame([pool.suspect, pool.pairs], ['POOL_MAX x 4', 4])
  const out = provenRun('pool-size', [{ cell: larger, because: 'no right' }]).proof
  t.ok(out.length >= 6 && !out.some(({ at }) => at.relaxed))
})

t.test('without --no-proof, --capacity and --quick, the plan proves', async (t) => {
  const proves = (/** @type {object} */ flags) => tune.plan(flags, {}).proves
  const flags = [{}, { 'no-proof': true }, { capacity: 500 }, { quick: true }]
  t.strictSame(flags.map(proves), [true, undefined, undefined, undefined])
  const minutesOf = (/** @type {object} */ flags) =>
    Number(/about (\d+) min/.exec(String(tune.size?.(tune.plan(flags, {}))))?.[1])
  t.ok(minutesOf({}) > minutesOf({ 'no-proof': true }), 'the proof is part of the estimate')
})

t.test('the announcement says what is measured, how often, and for how long', async (t) => {
  const sizeOf = (/** @type {object} */ flags) => tune.size?.(tune.plan({ 'no-proof': true, ...flags }, {}))
  t.match(
    sizeOf({ knob: ['POOL_MAX=20,5'], blocks: 2 }),
    /^2 combinations of settings, each measured in 2 blocks: about \d+ min$/,
  )
  t.match(sizeOf({ preset: 'article' }), /^8 rows by two generators, each measured in 6 blocks: about \d+ min$/)
  t.match(
    sizeOf({ preset: 'article', quick: true }),
    /^8 rows by two generators, each measured in 1 block: about \d min$/,
  )
  t.match(tune.details, /Measures every combination of settings in randomised blocks/)
})

t.test('by default, levels lie around what the first trials show to be needed', async (t) => {
  const needs = { capacity_rps: 8000, statement_ms: 0.5, busy: 4, wait_ms: 125, open_files: 1040, nofile: 20_000 }
  t.strictSame(levelsOf(needs), [
    { name: 'POOL_MAX', levels: [40, 8, 2] },
    { name: 'POOL_CONNECT_TIMEOUT_MS', levels: [30_000, 63] },
    { name: 'NOFILE', levels: [20_000, 1200, 730] },
  ])
  const [pool, timeout, files] = levelsOf({ ...needs, busy: 0.4, wait_ms: 1, nofile: 800 })
  t.strictSame(
    [pool.levels, timeout.levels, files.levels],
    [
      [40, 2, 1],
      [30_000, 1],
      [800, 730],
    ],
  )
  const far = levelsOf({ ...needs, busy: 30 })[0]
  t.strictSame(far.levels, [120, 60, 15])
})

t.test('the default matrix goes on where it was cut off, at each of its first trials', async (t) => {
  const plan = tune.plan({}, {})
  const records = recordsOf(plan, tune.design, createService({ capacity_rps: 1000 }))
  const phases = records.map(({ at }) => at.phase).filter((phase, i, all) => phase !== all[i - 1])
  t.strictSame(phases, ['peak', 'need', 'proof', 'block'])
  for (const length of [0, 1, 2, 5, 8, 40]) {
    t.strictSame(tune.design(plan, records.slice(0, length), [])?.at, records[length].at, `after ${length} trials`)
  }
  const peak = { ...records[0], outcome: { verdict: 'invalid', because: 'noise', blame: 'noise' } }
  const tried = recordsOf(plan, tune.design, createService({ capacity_rps: 1000 }), { change: () => peak })
  t.ok(tried.length > 1 && tried.length < 10, 'a peak that cannot be measured is given up')
  t.match(tune.analyse(plan, tried, {}).problem, /^the first trials, which find the levels, failed: noise/)
  t.equal(tune.design(plan, [], [{ cell: GENEROUS_CELL, because: 'no' }]), null)
})

t.test('where the limit of open files cannot be set, the other two knobs are measured', async (t) => {
  const plan = tune.plan({ 'no-proof': true }, {})
  const serve = createService({ capacity_rps: 1000 })
  const [peak, need] = recordsOf(plan, tune.design, serve)
  const out = [{ cell: tune.design(plan, [peak, need], [])?.cell, because: 'no prlimit here' }]
  t.match(out[0].cell, { NOFILE: 20_000 })
  const records = recordsOf(plan, tune.design, serve, { notApplied: out })
  const found = tune.analyse(plan, records, /** @type {any} */ ({ not_applied: out }))
  t.strictSame(Object.keys(found.kept?.recommended), ['POOL_MAX', 'POOL_CONNECT_TIMEOUT_MS'])
  t.equal(found.problem, null)
  const highs = /** @type {any[]} */ (found.responses).flatMap(({ effects }) =>
    effects.map((/** @type {any} */ { high }) => high),
  )
  t.ok(highs.length > 0 && highs.every(Number.isFinite), 'in more blocks, since each has fewer pairs')
})

t.test('a combination that was measured more often counts no more in the shares of failed requests', async (t) => {
  const record = (/** @type {string} */ other, /** @type {number} */ failed, /** @type {number} */ block) => ({
    ...{
      at: { phase: 'block', kind: 'above', block },
      cell: { POOL_MAX: 40, OTHER: other },
      outcome: { verdict: 'fail' },
    },
    traffic: { planned: 100, status: { 201: 100 - failed, 503: failed }, errors: {}, success_ratio: 1 - failed / 100 },
  })
  const records = /** @type {any[]} */ ([record('a', 0, 0), record('a', 0, 1), record('a', 0, 2), record('b', 80, 0)])
  const [level] = effectsByLoad([{ name: 'POOL_MAX', levels: [40] }], records)
  const above = level.loads.find(({ kind }) => kind === 'above')
  t.equal(above?.lost['answered with an error'], 0.4)
})

t.test('too few pairs decide nothing, and that is not said to be nothing', async (t) => {
  const effect = { seen: 'success', level: 4, ratio: 0.5, low: 0, high: Number.POSITIVE_INFINITY, tied: true }
  const loads = /** @type {any} */ ([{ kind: 'at', effects: [effect], lost: {} }])
  const level = { name: 'POOL_MAX', level: 4, reference: 20, loads }
  const text = markdownOf(byLoadBlocks([level], {}))
  t.match(text, '- POOL_MAX: 4 instead of 20: not decided, for too few pairs.')
  t.match(text, '0.50x [too few pairs]')
  t.notMatch(text, /tied|does nothing/)
  const faster = { seen: 'p99', level: 4, ratio: 0.7, low: 0.6, high: 0.8, tied: false, verdict: 'better' }
  const moved = { ...level, loads: /** @type {any} */ ([{ kind: 'above', effects: [faster], lost: {} }]) }
  t.match(markdownOf(byLoadBlocks([moved], {})), '- POOL_MAX: 4 instead of 20: p99 0.70x at 1.5x.')

  const plan = { ...PLAN, blocks: 1 }
  const found = tune.analyse(plan, runOf(designMatrix, plan), {})
  const [said] = /** @type {any[]} */ (tune.report(found)).flatMap(({ kind, text }) => (kind === 'answer' ? text : []))
  t.match(said, /Not decided, for too few pairs: [A-Z_]+=/)
  t.notMatch(said, /No knob moves/)

  const invalid = runOf(designMatrix, plan).map((record) => {
    const outcome = { verdict: 'invalid', because: 'it was late', blame: 'generator' }
    return record.at.phase === 'block' ? { ...record, outcome } : record
  })
  const none = /** @type {any} */ (tune.analyse(plan, /** @type {any} */ (invalid), {}))
  t.equal(none.problem, 'no trial of a cell was valid: it was late')
  t.strictSame(tune.files?.(none, /** @type {any} */ ({ interrupted: false })), {}, 'so nothing is recommended')
})
