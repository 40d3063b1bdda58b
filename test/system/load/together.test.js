import fs from 'node:fs'
import t from 'tap'
import { createUserMix } from '../../../load/generators/mix.js'
import { openUrl } from '../../../load/targets/index.js'
import { openTogether } from '../../../load/targets/together.js'
import { created, httpServer } from '../../support/servers.js'

/** @param {any} t @param {string[]} urls of base, again and head */
async function together(t, urls) {
  const processes = [{ pid: process.pid, name: 'node' }]
  const targets = ['base', 'again', 'head'].map((one, i) => [
    one,
    { ...openUrl('http://a/', { processes }), url: urls[i] },
  ])
  const target = await openTogether(Object.fromEntries(targets), { rate_rps: 100, connections: 4 })
  t.teardown(target.stop)
  const plan = { driver: 'paced', rate_rps: 25, connections: 1, timeout_s: 5, trial: 3, mix: createUserMix(7) }
  return { ...target, disturb: /** @type {any} */ (target.disturb), watch: /** @type {any} */ (target.watch), plan }
}

t.test('a trial loads all sides at one rate, with requests of their own, and a server of its own', async (t) => {
  const counts = [0, 0, 0]
  /** @type {string[]} */
  const emails = []
  const urls = await Promise.all(
    counts.map((_, i) =>
      httpServer(t, async (req, res) => {
        emails.push(JSON.parse(Buffer.concat(await req.toArray()).toString()).email)
        counts[i]++
        res.writeHead(201, { 'Content-Length': 0 }).end()
      }),
    ),
  )
  const { disturb, watch, url, writesBeside, metricsUrl, pid, stop, plan } = await together(t, urls)
  t.strictSame([urls.includes(url), writesBeside, metricsUrl, pid], [false, true, null, null])
  t.equal((await fetch(url, { method: 'POST', body: 'x' })).status, 201, 'the trial has a server of its own')
  const calm = await disturb({ pid: 0 }, {}, plan, new AbortController().signal)
  const probe = await watch()
  while (counts.some((count) => count < 5)) await new Promise(setImmediate)
  await probe.sample()
  const { cpu_us_per_request: parts } = await probe.end()({})
  const { mean_ms, goodput_rps, ...beside } = await calm()
  t.equal(counts[0] + counts[1] + counts[2], beside.ok)
  t.strictSame([beside.offered_rps, beside.planned], [300, beside.ok])
  t.equal(new Set(emails).size, emails.length, 'no email twice')
  t.equal(parts.length, 2, 'until the sample, and from there to the end')
  t.strictSame(Object.keys(parts[0]), ['base', 'again', 'head'])
  t.ok(
    Object.values(parts[0]).every((cost_us) => cost_us > 0),
    JSON.stringify(parts),
  )
  await stop()
  await t.rejects(fetch(url), { message: 'fetch failed' }, 'it ends with the trial')
})

t.test('arrivals are random, so that no side always comes just behind another', async (t) => {
  /** @type {number[]} */
  const times_ms = []
  const count = (/** @type {any} */ req, /** @type {any} */ res) => {
    times_ms.push(performance.now())
    created(req, res)
  }
  const { disturb, plan } = await together(t, [
    await httpServer(t, count),
    await httpServer(t, created),
    await httpServer(t, created),
  ])
  const calm = await disturb({ pid: 0 }, {}, plan, new AbortController().signal)
  while (times_ms.length < 60) await new Promise(setImmediate)
  await calm()
  const gaps_ms = times_ms.slice(1).map((time_ms, i) => time_ms - times_ms[i])
  const mean_ms = gaps_ms.reduce((sum, gap_ms) => sum + gap_ms, 0) / gaps_ms.length
  const deviation_ms = Math.sqrt(gaps_ms.reduce((sum, gap_ms) => sum + (gap_ms - mean_ms) ** 2, 0) / gaps_ms.length)
  t.ok(deviation_ms > 0.5 * mean_ms, `gaps of ${mean_ms} ms that differ by ${deviation_ms} ms`)
})

t.test('a load that cannot be started beside a trial leaves no other', async (t) => {
  const { disturb, plan } = await together(t, [await httpServer(t, created), 'http://127.0.0.1:1/', 'no URL'])
  await t.rejects(disturb({ pid: 0 }, {}, plan, new AbortController().signal), { message: /Invalid URL/ })
  t.strictSame(childrenOf(process.pid), [], 'the generator of the first one has ended')
})

t.test('any side that ends by itself ends the trial', async (t) => {
  const url = await httpServer(t, created)
  const died = Promise.reject(new Error('the head has ended'))
  const targets = { base: openUrl(url), again: openUrl(url), head: { ...openUrl(url), died } }
  const target = await openTogether(targets, { rate_rps: 1, connections: 1 })
  t.teardown(target.stop)
  await t.rejects(target.died, { message: 'the head has ended' })
})

/** @param {number} pid @returns {string[]} ids of its children */
function childrenOf(pid) {
  const tasks = fs.readdirSync(`/proc/${pid}/task`)
  return tasks.flatMap((task) => fs.readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').match(/\d+/g) ?? [])
}
