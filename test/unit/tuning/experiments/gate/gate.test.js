import fs from 'node:fs'
import t from 'tap'
import { blocksDuration, design } from '../../../../../tuning/experiments/gate/design.js'
import { gate } from '../../../../../tuning/experiments/gate/gate.js'
import { refWarnings } from '../../../../../tuning/experiments/gate/refs.js'
import { wantedText } from '../../../../../tuning/experiments/gate/report.js'
import { openService } from '../../../../../tuning/experiments/gate/services.js'
import { createService } from '../../../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../../../support/simulated/verb.js'

const URLS = ['--url-base', 'http://127.0.0.1:1/', '--url-head', 'http://127.0.0.1:2/']

/** @param {any} t @param {{ head_rps: number, noise: number }} truth @param {string[]} flags */
async function gated(t, { head_rps, noise }, ...flags) {
  const serve = createService(({ cell }) => ({ capacity_rps: cell.side === 'head' ? head_rps : 1000, noise }))
  const out = `${memoryFolder(t)}/run`
  const { code, stdout, run, records } = await simulate(gate, [...URLS, ...flags, '--out', out], serve)
  const files = Object.fromEntries(
    ['comment.md', 'junit.xml'].map((name) => [name, fs.readFileSync(`${out}/${name}`, 'utf8')]),
  )
  return { code, stdout, run, records, files }
}

t.test('a head that costs more has regressed: exit code 1, a comment, and a test that fails', async (t) => {
  const { code, run, records, files } = await gated(t, { head_rps: 900, noise: 0.01 })
  t.equal(code, 1)
  t.match(run, {
    verdict: 'regressed',
    exit_code: 1,
    failure: 'regressed',
    problem: null,
    criterion: 'CPU per request',
  })
  t.match(
    files['comment.md'],
    /^Regressed: CPU per request of head \/ base: 1\.1.*; at most 2\.0 % worse was accepted\./,
  )
  t.match(files['comment.md'], "`redline gate --url-base 'http://127.0.0.1:1/' --url-head 'http://127.0.0.1:2/'")
  t.match(files['junit.xml'], '<failure message="regressed"/>')
  t.equal(Math.max(...records.map(({ at }) => at.block)), 2, 'it ends when it is decided')
})

t.test('what cannot be told is undecided: exit code 3, or 0 if that is allowed', async (t) => {
  const [noisy, allowed] = [
    await gated(t, { head_rps: 980, noise: 0.1 }, '--blocks', '3'),
    await gated(t, { head_rps: 980, noise: 0.1 }, '--blocks', '3', '--allow-undecided'),
  ]
  t.strictSame([noisy.code, allowed.code], [3, 0])
  const said = noisy.stdout.replace(/\s+/g, ' ')
  t.match(
    said,
    /Undecided: CPU per request of head \/ base: .*; this interval \(99 %\) holds 2\.0 % worse, and this .* blocks would decide/,
  )
  t.match(noisy.run, { verdict: 'undecided', failure: 'undecided' })
  t.match(allowed.run, { verdict: 'undecided', exit_code: 0 })
  t.equal(noisy.records.length, 36, 'three blocks of three sides, with four slices each')
})

t.test('the tolerance is what is accepted', async (t) => {
  const { code } = await gated(t, { head_rps: 900, noise: 0.01 }, '--tolerance', '20%')
  t.equal(code, 0)
})

t.test('each slice visits all sides, and both loads are made', async (t) => {
  const { records } = await gated(t, { head_rps: 900, noise: 0.01 })
  for (const [slice, phase, loop] of [
    [0, 'lead', 'closed'],
    [1, 'cost', 'closed'],
    [2, 'cost', 'closed'],
    [3, 'latency', 'open'],
  ]) {
    const own = records.filter(({ at }) => at.block === 0 && at.slice === slice)
    t.strictSame(own.map(({ cell }) => cell.side).sort(), ['again', 'base', 'head'])
    t.ok(own.every(({ at, load }) => at.phase === phase && load.loop === loop))
  }
  const [open] = records.filter(({ load }) => load.loop === 'open')
  t.ok(Math.abs(open.load.rate_rps / 500 - 1) < 0.1, `${open.load.rate_rps}: half of what the base takes`)
})

t.test('the processes of running services are those that were named', async (t) => {
  const [url, name] = ['http://127.0.0.1:1/', 'node']
  const sides = { base: { url, pid: { pid: 4711, name } }, head: { url, pid: null } }
  const plan = /** @type {any} */ ({ sides, mix: { seed: 1 } })
  const place = /** @type {any} */ ({})
  const processesOf = async (/** @type {string} */ side) =>
    (await openService({ side, start: 2 }, place, plan, undefined)).processes
  t.strictSame(await processesOf('base'), [{ pid: 4711, name }])
  t.strictSame(await processesOf('again'), [{ pid: 4711, name }], 'the base is one service')
  t.strictSame(await processesOf('head'), [])
})

/**
 * The trials of two versions of a repository, in which nothing is decided.
 * @param {number} goodput_rps @param {string} verdict @param {(block: number) => boolean} [isSeen] whether the load of all sides gave figures
 * @param {number} [blocks]
 */
function trialsOf(goodput_rps, verdict, isSeen = () => true, blocks = 4) {
  const sides = { base: { ref: 'a', url: null }, head: { ref: 'b', url: null } }
  const how = { blocks, duration_s: 1, tolerance_ratio: 0.02, mix: { seed: 1 }, url: null }
  const plan = /** @type {any} */ ({ sides, ...how })
  /** @type {any[]} */
  const records = []
  let costs = 0
  for (let step = design(plan, records); step; step = design(plan, records)) {
    // No two costs are near each other, so that no block decides.
    const target = { cpu_us_per_request: [{ base: 100, again: 400, head: 200 }] }
    const probes = {
      api: { cpu_us_per_request: 100 * ++costs },
      ...(step.at.phase === 'together' && isSeen(step.at.block) && { target }),
    }
    records.push({ ...step, outcome: { verdict }, traffic: { goodput_rps, success_ratio: 1 }, probes })
  }
  return { plan, records }
}

t.test('versions of a repository are loaded at once in each block, and in turns after the verdict', async (t) => {
  const { plan, records } = trialsOf(9000, 'pass')
  const [peak, ...others] = records
  t.match(peak, { at: { phase: 'peak' }, cell: { side: 'base', start: 'peak' }, load: { loop: 'closed' } })
  const together = others.slice(0, 4)
  t.strictSame(
    together.map(({ at, cell, load }) => [at.phase, at.block, cell.side, cell.start, cell.side_rps, load.rate_rps]),
    [0, 1, 2, 3].map((block) => ['together', block, 'all', block + 1, 1350, 10]),
    'a quarter of six tenths of the throughput for each',
  )
  const inTurns = others.slice(4)
  t.strictSame(
    inTurns.map(({ at, load }) => [at.block, at.slice, at.phase, load.loop]),
    [4, 5].flatMap((block) => [
      ...Array(3).fill([block, 0, 'cost', 'closed']),
      ...Array(3).fill([block, 1, 'latency', 'open']),
    ]),
    'two rounds',
  )
  for (const { at, cell, load, about } of inTurns) {
    t.equal(cell.start, 4, 'on the services that are up')
    t.ok(at.informs && load.warmup_s < 1, 'which are warm')
    t.match(about, /^undecided; /)
  }
  t.equal(others[0].left_s, blocksDuration(plan))
  t.equal(together[3].left_s, blocksDuration(plan, 3))
  t.equal(inTurns[0].left_s, blocksDuration(plan, 4))
  t.equal(inTurns[11].left_s, blocksDuration(plan, 4) / 2)
})

t.test('the next step of a long gate is found without judging the blocks before it again', async (t) => {
  /** Looks at the first record while the design finds the step that follows this many undecided blocks. @param {number} blocks */
  const looksAfter = (blocks) => {
    const { plan, records } = trialsOf(9000, 'pass', undefined, blocks)
    const known = records.filter(({ at }) => !at.informs)
    const { probes, ...first } = known[1]
    let looks = 0
    const watched = Object.defineProperty(first, 'probes', {
      get() {
        looks++
        return probes
      },
    })
    t.match(design({ ...plan, blocks: blocks + 1 }, known.with(1, watched)), { at: { block: blocks } })
    return looks
  }
  t.ok(looksAfter(4) > 0)
  t.equal(looksAfter(12), looksAfter(4))
})

t.test('turns after the verdict change it only if the head fails in all of them, and the base in none', async (t) => {
  const { plan, records } = trialsOf(9000, 'pass')
  /** @param {number[]} blocks @param {string[]} sides whose requests fail there */
  const failing = (blocks, sides) => {
    const fails = (/** @type {any} */ { at, cell }) => blocks.includes(at.block) && sides.includes(cell.side)
    const changed = records.map((record) =>
      fails(record) ? { ...record, traffic: { goodput_rps: 1, success_ratio: 0 } } : record,
    )
    return gate.analyse(plan, /** @type {any} */ (changed), /** @type {any} */ ({}))
  }
  const usual = failing([], [])
  t.equal(usual.verdict, 'undecided')
  for (const [blocks, sides, verdict] of /** @type {[number[], string[], string][]} */ ([
    [[4, 5], ['head'], 'regressed'],
    [[5], ['head'], 'undecided'],
    [[4, 5], ['head', 'base'], 'undecided'],
  ])) {
    const found = failing(blocks, sides)
    t.equal(found.verdict, verdict, `${sides} in ${blocks}`)
    t.strictSame(found.pairs, usual.pairs)
  }
  const half = records.filter(({ at, cell }) => at.block !== 5 || (at.phase === 'cost' && cell.side === 'head'))
  const broken = half.map((record) =>
    record.at.informs && record.cell.side === 'head'
      ? { ...record, traffic: { goodput_rps: 1, success_ratio: 0 } }
      : record,
  )
  t.equal(
    gate.analyse(plan, /** @type {any} */ (broken), /** @type {any} */ ({})).verdict,
    'undecided',
    'a round is not over',
  )
})

t.test('figures that decide are those of the blocks before the verdict', async (t) => {
  // Only one of four blocks could be loaded at once, so the turns of the others decide.
  const { plan, records } = trialsOf(9000, 'pass', (block) => block === 0)
  const { deciding, pairs } = gate.analyse(plan, /** @type {any} */ (records), /** @type {any} */ ({}))
  t.ok(records.some(({ at }) => at.informs))
  t.equal(pairs.length, 3)
  t.equal(deciding?.estimate.blocks, 3)
})

t.test('a comment on a run that broke off says so first, and quotes the words of the command', async (t) => {
  const { plan, records } = trialsOf(9000, 'pass')
  const findings = gate.analyse(plan, /** @type {any} */ (records), /** @type {any} */ ({}))
  const run = {
    machine: { cpu_model: 'EPYC', cores: 2, kernel: 'Linux' },
    argv: ['--base', 'main', '--start', 'node server.js'],
  }
  const commentOf = (/** @type {object} */ ended) => {
    return gate.files?.(findings, /** @type {any} */ ({ ...run, problem: null, interrupted: false, ...ended }))[
      'comment.md'
    ]
  }
  t.match(
    commentOf({ problem: 'the run broke off: head ended' }),
    /^\*\*No trustworthy answer: the run broke off: head ended\.\*\*\n/,
  )
  t.match(commentOf({ interrupted: true }), /^\*\*No trustworthy answer: the run was interrupted\.\*\*\n/)
  t.match(commentOf({}), /^Undecided: .*`redline gate --base main --start 'node server\.js'`/s)
})

t.test('changes that are not committed, and a commit compared with itself, are warned of', (t) => {
  const [one, other] = ['1234567890', 'abcdef0123']
  for (const [commits, files, expected] of /** @type {[Record<string, string>, string[], RegExp[]][]} */ ([
    [{ base: one, head: other }, [], []],
    [{ base: one, head: one }, [], [/^base and head are the same commit, 1234567,/]],
    [{ base: one, head: other }, ['a.js'], [/^uncommitted changes .* head is the commit abcdef0: a\.js$/]],
    [{ base: one, head: one }, ['a.js', 'b.js', 'c.js'], [/1234567: a\.js and 2 more$/, /^base and head/]],
  ])) {
    const found = refWarnings(commits, { commit: commits.head, uncommitted: files })
    t.equal(found.length, expected.length)
    t.match(found, expected)
  }
  t.end()
})

t.test('versions that get nothing through are not loaded at once', async (t) => {
  const { records } = trialsOf(0, 'pass')
  t.strictSame([...new Set(records.map(({ at }) => at.phase))], ['peak', 'cost'])
})

t.test('more blocks are not advised than --blocks allows', (t) => {
  t.equal(wantedText(1000), 'About 1,000 blocks would decide (--blocks).')
  t.match(wantedText(240_000), /^Even 1,000 blocks would not decide: .* \(--tolerance\)\.$/)
  t.equal(wantedText(Number.POSITIVE_INFINITY), '')
  t.end()
})
