import fs from 'node:fs'
import t from 'tap'
import { ratesText } from '../../../load/report/format.js'
import { lastThrough_rps } from '../../../load/verbs/sweep/pictures.js'
import { shift } from '../../../load/verdict/ranks.js'
import { evidence } from '../../../tuning/pages/evidence/evidence.js'
import { capacityRatio } from '../../../tuning/pages/report/figures.js'
import { runVerb, temporaryFolder } from '../../support/lab.js'
import { fixture, reportOf, rewrite, runReport } from '../../support/pages.js'

t.test('a folder is written again from what was measured, which stays as it is', async (t) => {
  const folder = fixture('sweep-batched', temporaryFolder(t))
  const before = ['run.json', 'trials.ndjson'].map((name) => fs.readFileSync(`${folder}/${name}`, 'utf8'))
  const { status, stdout } = await runVerb('report', [folder])
  t.equal(status, 0)
  const { capacity, limit } = evidence('sweep-batched').run
  t.match(stdout, `Capacity: ${ratesText(capacity)}. Limit: ${limit.resource}`)
  t.match(stdout, `${folder}/report.html`)
  t.strictSame(
    ['run.json', 'trials.ndjson'].map((name) => fs.readFileSync(`${folder}/${name}`, 'utf8')),
    before,
  )
  const kept = fs.readFileSync('tuning/evidence/sweep-batched/report.md', 'utf8')
  const written = fs.readFileSync(`${folder}/report.md`, 'utf8')
  // Links lead from where the report is.
  const words = (/** @type {string} */ text) => withoutPictures(text).replace(/\]\([^)]*\)/g, ']')
  t.equal(words(written), words(kept), 'the words are those of the run')
})

t.test('a run that was cut off amid a line is read up to it, and may lack what older ones had not', async (t) => {
  const folder = fixture('sweep-single', temporaryFolder(t))
  rewrite(folder, {
    run: (run) => {
      for (const name of ['limit', 'capacity', 'warnings', 'not_applied', 'pinning']) delete run[name]
    },
    record: (record) => {
      delete record.traffic.per_second
      delete record.traffic.ok_latency_ms
      delete record.probes.kernel
      delete record.probes.postgres
    },
  })
  fs.appendFileSync(`${folder}/trials.ndjson`, '{"trial":99,"traf')
  const { run } = await runReport(folder)
  t.equal(run.problem, null)
  t.notOk(fs.existsSync(`${folder}/seconds.svg`))
  t.ok(fs.readFileSync(`${folder}/trials.ndjson`, 'utf8').endsWith('"traf'), 'nor is it mended')
})

t.test('the report of a run that was killed says that it is not finished', async (t) => {
  const folder = fixture('sweep-batched', temporaryFolder(t))
  await runReport(folder)
  t.match(fs.readFileSync(`${folder}/report.md`, 'utf8'), /\n\nCapacity: /)
  const lines = fs.readFileSync(`${folder}/trials.ndjson`, 'utf8').split('\n')
  fs.writeFileSync(`${folder}/trials.ndjson`, `${lines.slice(0, 5).join('\n')}\n`)
  rewrite(folder, { run: (run) => Object.assign(run, { finished_at: null }) })
  const { text } = await runReport(folder)
  t.match(text, /^Not finished\. So far: \S/)
  const report = fs.readFileSync(`${folder}/report.md`, 'utf8')
  t.match(report, /The run was interrupted; `--resume` with its folder continues it\./)
})

t.test('a run that was cut off early is shown as far as it went', async (t) => {
  const folder = temporaryFolder(t)
  for (const name of [
    'sweep-batched',
    'tune',
    'article',
    'compare',
    'ramp',
    'ablate',
    'balance',
    'processes',
    'faults',
    'soak',
  ]) {
    const source = fixture(name, folder)
    const lines = fs.readFileSync(`${source}/trials.ndjson`, 'utf8').split('\n')
    rewrite(source, { run: (run) => Object.assign(run, { finished_at: null }) })
    for (const trials of [0, 3]) {
      fs.writeFileSync(
        `${source}/trials.ndjson`,
        lines
          .slice(0, trials)
          .map((line) => `${line}\n`)
          .join(''),
      )
      const { run } = await runReport(source)
      t.equal(run.problem, null)
      const page = fs.readFileSync(`${source}/report.html`, 'utf8')
      t.equal(/NaN|Infinity|undefined/.exec(page)?.[0], undefined, `${name} after ${trials} trials`)
    }
  }
})

t.test('the report of a run without a trustworthy answer says why, and exits 1', async (t) => {
  const folder = fixture('sweep-batched', temporaryFolder(t))
  rewrite(folder, { run: (run) => Object.assign(run, { answer: 'none', problem: 'the trials contradict each other' }) })
  t.match(await reportOf(folder), {
    code: 1,
    stdout: /No trustworthy answer: the trials contradict each other\./,
    stderr: /^redline: no trustworthy answer: the trials contradict each other\n$/,
  })
})

t.test('a finished run whose trials are gone is refused, and its report stays as it is', async (t) => {
  const folder = fixture('sweep-batched', temporaryFolder(t))
  fs.rmSync(`${folder}/trials.ndjson`)
  fs.writeFileSync(`${folder}/report.md`, 'the report')
  t.match(await reportOf(folder), {
    code: 2,
    stdout: '',
    stderr: /^redline: expected 20 trials or more in .*trials\.ndjson, as run\.json counts them, got 0: .*\n$/,
  })
  t.equal(fs.readFileSync(`${folder}/report.md`, 'utf8'), 'the report')
})

t.test('several runs stand side by side, with ratios and ties', async (t) => {
  const folder = temporaryFolder(t)
  const [a, b] = [fixture('tune', folder), fixture('tune', `${folder}/b`)]
  rewrite(b, {
    record: (record) => {
      if (record.cell?.INSERT_MODE !== 'batched' || record.cell.POOL_MAX !== 20) return
      record.traffic.goodput_rps *= 10
    },
  })
  const { code, stdout } = await reportOf(a, b, a, '--out', `${folder}/out`, '--json')
  t.equal(code, 0)
  const { figures, runs } = JSON.parse(stdout)
  t.strictSame(
    runs.map((/** @type {any} */ { name }) => name),
    ['A', 'B', 'C'],
  )
  const verdicts = figures.map((/** @type {any} */ { group, measure, ratios }) => [group, measure, ratios[0].verdict])
  const moved = verdicts.filter((/** @type {string[]} */ [group, measure, verdict]) => {
    return /better|worse/.test(verdict) && /above.*batched POOL_MAX=20/.test(group) && measure === 'goodput'
  })
  t.strictSame(moved, [['block/above, INSERT_MODE=batched POOL_MAX=20', 'goodput', 'better']])
  const alike = figures.flatMap((/** @type {any} */ { ratios }) => ratios[1])
  t.ok(
    alike.length > 20 && alike.every((/** @type {any} */ { ratio }) => Math.abs(ratio - 1) < 1e-9),
    'a run is itself',
  )
  t.ok(alike.every((/** @type {any} */ { verdict }) => /tied|too few trials/.test(verdict)))
  const markdown = fs.readFileSync(`${folder}/out/report.md`, 'utf8')
  t.match(markdown, /\| +C to A \|/)
  t.match(markdown, /\[[\d.]+–[\d.]+\], tied/)
})

t.test('runs with different requests or databases are compared, and the report names the differences', async (t) => {
  const folder = temporaryFolder(t)
  const [a, b] = [fixture('sweep-batched', folder), fixture('sweep-batched', `${folder}/b`)]
  rewrite(b, {
    run: (run) => {
      Object.assign(run.plan.mix, { method: 'GET', seed: 99 })
      Object.assign(run.database, { fsync: 'off', round_trip_ms: 9 })
    },
  })
  await reportOf(a, b, '--out', `${folder}/out`)
  const markdown = fs.readFileSync(`${folder}/out/report.md`, 'utf8')
  t.match(markdown, /\| requests method +\| +POST +\| +GET +\|/)
  t.match(markdown, /\| database fsync +\| +on +\| +off +\|/)
  t.notMatch(markdown, /requests seed|database round_trip_ms/)
})

t.test('runs of different machines are compared only by who says so, and the page says it first', async (t) => {
  const folder = temporaryFolder(t)
  const [a, b] = [fixture('sweep-batched', folder), fixture('sweep-single', folder)]
  for (const [folder, cpu_model] of [
    [a, 'One CPU'],
    [b, 'Another CPU'],
  ]) {
    rewrite(folder, { run: (run) => Object.assign(run.machine, { cpu_model }) })
  }
  const refused = await reportOf(a, b, '--out', `${folder}/out`)
  t.match(refused, { code: 1, stderr: /different machines: cpu_model One CPU against Another CPU/ })
  t.match(refused.stderr, '--across-machines')
  t.notOk(fs.existsSync(`${folder}/out`), 'nothing is written')
  const { code, stdout } = await reportOf(a, b, '--out', `${folder}/out`, '--across-machines')
  t.equal(code, 0)
  t.match(stdout, /^\s*Across machines: A and B are of different machines/)
  t.match(fs.readFileSync(`${folder}/out/report.md`, 'utf8'), /^# .*\n\nAcross machines: A and B/)
  t.match(fs.readFileSync(`${folder}/out/report.html`, 'utf8'), /class="answer">Across machines: A and B/)
})

t.test('what cannot be shown is refused', async (t) => {
  const folder = temporaryFolder(t)
  const [sweep, soak] = [fixture('sweep-batched', folder), fixture('soak', folder)]
  fs.mkdirSync(`${folder}/unused`)
  fs.writeFileSync(`${folder}/unused/run.json`, '{}\n')
  const other = fixture('sweep-single', folder)
  const [early, damaged] = ['early', 'damaged'].map((name) => fixture('sweep-single', `${folder}/${name}`))
  rewrite(early, {
    run: (run) => {
      for (const name of ['machine', 'versions', 'pinning']) delete run[name]
    },
  })
  rewrite(damaged, { record: (record) => delete record.traffic })
  const cases = [
    [[], /expected one to 6 results folders, got 0/],
    [[`${folder}/none`], /expected a results folder with a run\.json/],
    [[sweep, early], /expected a run with trials in .*early.*, but it ended before its first/],
    [[damaged], /expected an object as traffic in .*damaged.*trials\.ndjson, line 1, got none/],
    [[sweep, damaged], /expected an object as traffic in/],
    [[`${folder}/unused`], /ended before its first trial/],
    [[sweep, soak], /expected runs of one verb, got one of sweep and one of soak/],
    [[sweep, '--out', soak], /--out: expected a new or empty folder/],
    [[sweep, other, '--out', sweep], /--out: expected a new or empty folder/],
    [[sweep, '--nonsense'], /--help lists the flags/],
  ]
  for (const [argv, message] of /** @type {[string[], RegExp][]} */ (cases)) {
    await t.rejects(runReport(...argv), { message }, String(message))
  }
  t.match(await reportOf(), { code: 2, stderr: /expected one to 6/ })
  t.match(await reportOf('--help'), { code: 0, stdout: /npm run report -- results\// })
})

t.test('one capacity beside another: from the ends of the intervals', async (t) => {
  const of = (/** @type {number | null} */ low_rps, /** @type {number | null} */ high_rps) => ({ low_rps, high_rps })
  const cases = /** @type {const} */ ([
    ['intervals apart', of(100, 110), of(220, 231), { low: 2, high: 2.31, verdict: 'better' }],
    ['the other way round', of(220, 231), of(100, 110), { verdict: 'worse', high: 0.5 }],
    ['intervals that overlap', of(100, 110), of(105, 120), { verdict: 'tied' }],
    [
      'no upper end, and above',
      of(100, 110),
      of(220, null),
      { low: 2, high: Number.POSITIVE_INFINITY, verdict: 'better' },
    ],
    ['no upper end of the reference', of(100, null), of(220, 240), { verdict: 'tied', low: 0 }],
    ['only an upper end, and below', of(100, 110), of(null, 50), { low: 0, high: 0.5, verdict: 'worse' }],
  ])
  for (const [name, a, b, expected] of cases) t.match(capacityRatio(a, b), expected, name)
  t.equal(capacityRatio(null, of(1, 2)), null)
})

t.test('the interval of a shift is that of the rank-sum test', async (t) => {
  // Tables of U at 0.05, two-sided: 0 for 4 and 4, 5 for 6 and 6, 13 for 8 and 8, 8 for 5 and 8 less 2.
  const cases = [
    [4, 4, 0],
    [5, 5, 2],
    [6, 6, 5],
    [8, 8, 13],
    [5, 8, 6],
    [10, 10, 23],
    [20, 20, 127],
  ]
  for (const [m, n, critical] of cases) {
    const a = Array.from({ length: m }, (_, i) => i * 1.01)
    const b = Array.from({ length: n }, (_, i) => i * 1.37)
    const sorted = a.flatMap((x) => b.map((y) => x - y)).sort((x, y) => x - y)
    t.match(shift(a, b, 0.95), { low: sorted[critical], high: sorted[m * n - 1 - critical] }, `${m} and ${n}`)
  }
  t.equal(shift([1, 2, 3], [4, 5, 6], 0.95).high, Number.POSITIVE_INFINITY, 'three and three can never tell')
  const large = shift(
    Array.from({ length: 40 }, (_, i) => i + 100),
    Array.from({ length: 40 }, (_, i) => i),
    0.95,
  )
  t.ok(large.estimate === 100 && large.low > 90 && large.high < 110, 'many by the normal distribution')
})

t.test('the vertical line marks the last rate at which 95 % of the offered load gets through', async (t) => {
  const at = (/** @type {number} */ rate_rps, /** @type {number} */ goodput_rps) =>
    /** @type {any} */ ({ load: { rate_rps }, traffic: { goodput_rps } })
  t.equal(lastThrough_rps([at(300, 200), at(100, 100), at(200, 199)]), 200)
  t.equal(
    lastThrough_rps([at(200, 199), at(200, 100), at(200, 198), at(300, 200)]),
    200,
    'by the typical trial of a rate',
  )
  t.equal(lastThrough_rps([at(100, 100), at(200, 200)]), null, 'none was met')
  t.equal(lastThrough_rps([at(100, 50), at(200, 60)]), null, 'or all were beyond it')
})

/** @param {string} markdown */
function withoutPictures(markdown) {
  return markdown.replace(/(## Second by second\n\n)?!\[.*\]\(.*\.svg\)\n\n/g, '')
}
