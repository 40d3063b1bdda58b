import fs from 'node:fs'
import t from 'tap'
import { blocksDuration, design } from '../../../../../tuning/experiments/gate/design.js'
import { gate } from '../../../../../tuning/experiments/gate/gate.js'
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
  t.match(files['comment.md'], '`redline gate --url-base http://127.0.0.1:1/ --url-head http://127.0.0.1:2/')
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
    (await openService({ side, start: 1 }, place, plan, null)).processes
  t.strictSame(await processesOf('base'), [{ pid: 4711, name }])
  t.strictSame(await processesOf('again'), [{ pid: 4711, name }], 'the base is one service')
  t.strictSame(await processesOf('head'), [])
})

/** The trials of two versions of a repository, in which nothing is decided. @param {number} goodput_rps @param {string} verdict */
function trialsOf(goodput_rps, verdict) {
  const sides = { base: { ref: 'a', url: null }, head: { ref: 'b', url: null } }
  const how = { blocks: 4, duration_s: 1, tolerance_ratio: 0.02, mix: { seed: 1 }, url: null }
  const plan = /** @type {any} */ ({ sides, ...how })
  /** @type {any[]} */
  const records = []
  let costs = 0
  for (let step = design(plan, records); step; step = design(plan, records)) {
    // No two costs are near each other, so that no block decides.
    const target = { cpu_us_per_request: [{ base: 100, again: 400, head: 200 }] }
    const probes = { api: { cpu_us_per_request: 100 * ++costs }, ...(step.at.phase === 'together' && { target }) }
    records.push({ ...step, outcome: { verdict }, traffic: { goodput_rps, success_ratio: 1 }, probes })
  }
  return { plan, records }
}

t.test('versions of a repository are loaded at once in each block, and in turns in the first ones', async (t) => {
  const { plan, records } = trialsOf(9000, 'pass')
  const [peak, ...others] = records
  t.match(peak, { at: { phase: 'peak' }, cell: { side: 'base', start: 'peak' }, load: { loop: 'closed' } })
  const together = others.filter(({ at }) => at.phase === 'together')
  t.strictSame(
    together.map(({ at, cell, load }) => [at.block, cell.side, cell.start, cell.side_rps, load.rate_rps]),
    [0, 1, 2, 3].map((block) => [block, 'all', block + 1, 1800, 10]),
    'a third of six tenths of the throughput for each',
  )
  const inTurns = others.filter(({ at }) => at.phase !== 'together')
  t.strictSame([...new Set(inTurns.map(({ at }) => at.block))], [0, 1], 'the first blocks tell the rest')
  t.equal(inTurns.length, 2 * 3 * 2)
  for (const block of [0, 1]) {
    t.equal(others.find(({ at }) => at.block === block).at.phase, 'together', 'before the turns')
  }
  t.equal(others[0].left_s, blocksDuration(plan))
  t.equal(records.at(-1).left_s, blocksDuration(plan, 3))
})

t.test('versions that get nothing through are not loaded at once', async (t) => {
  const { records } = trialsOf(0, 'pass')
  t.strictSame([...new Set(records.map(({ at }) => at.phase))], ['peak', 'cost'])
})
