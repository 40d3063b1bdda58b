import t from 'tap'
import { summarise } from '../../../../../load/generators/drivers/vegeta/hits.js'

const RATE_RPS = 5000
const WORKERS = 50
const ANSWER_MS = 5
const DURATION_S = 2

/** In which somebody stands still. */
const FROM_MS = 500
const TO_MS = 1000

/**
 * What becomes of a schedule, whose workers each take the next request as soon as they may.
 * @param {'nobody' | 'vegeta' | 'target'} still
 */
function trafficWhen(still) {
  const stands = (/** @type {number} */ time_ms) => time_ms >= FROM_MS && time_ms < TO_MS
  const freeAt_ms = Array(WORKERS).fill(0)
  const hits = Array.from({ length: RATE_RPS * DURATION_S }, (_, seq) => {
    const worker = freeAt_ms.indexOf(Math.min(...freeAt_ms))
    const ready_ms = Math.max((seq * 1000) / RATE_RPS, freeAt_ms[worker])
    const begin_ms = still === 'vegeta' && stands(ready_ms) ? TO_MS : ready_ms
    const answered_ms = begin_ms + ANSWER_MS
    // An answer that comes meanwhile is seen, or given, when it goes on.
    const end_ms = still !== 'nobody' && stands(answered_ms) ? TO_MS : answered_ms
    freeAt_ms[worker] = end_ms
    return { seq, begin_ms, latency_ms: end_ms - begin_ms, status: 201, error: '', entry: 0 }
  })
  const host = /** @type {any} */ ({ host: 'u@a', cores: 2 })
  const part = { index: 0, of: 1, address: null, host }
  const ran = { told_ns: null, word_ms: null, cpu_s: 1 }
  const load = /** @type {any} */ ({ rate_rps: RATE_RPS, connections: WORKERS, load_hosts: [host] })
  const traffic = summarise(new Map([[0, { hits, base_ns: 0n }]]), [{ part, ran }], load, DURATION_S)
  return { own_ms: Number(traffic.hosts?.[0].lateness_ms?.p99), p99_ms: Number(traffic.latency_ms?.p99) }
}

t.test('a vegeta that stood still was late, though its backlog then filled all its workers', async (t) => {
  const { own_ms, p99_ms } = trafficWhen('vegeta')
  t.ok(p99_ms > 300, `${p99_ms} ms`)
  t.ok(own_ms > 300, `${own_ms} ms`)
})

t.test('while all workers wait for a target that stands still, vegeta is not late', async (t) => {
  const { own_ms, p99_ms } = trafficWhen('target')
  t.ok(p99_ms > 300, `${p99_ms} ms`)
  t.ok(own_ms < 1, `${own_ms} ms`)
  t.ok(trafficWhen('nobody').own_ms < 1)
})

t.test("vegeta's own schedule, in whole nanoseconds, is not taken for lateness", async (t) => {
  const [rate_rps, duration_s] = [6000, 600]
  const hits = Array.from({ length: 300 }, (_, i) => {
    const seq = i * 12_000
    return { seq, begin_ms: seq * 0.166666, latency_ms: 1, status: 201, error: '', entry: 0 }
  })
  const host = /** @type {any} */ ({ host: 'u@a', cores: 2 })
  const part = { index: 0, of: 1, address: null, host }
  const ran = { told_ns: null, word_ms: null, cpu_s: 1 }
  const load = /** @type {any} */ ({ rate_rps, connections: WORKERS, load_hosts: [host] })
  const { latency_ms, hosts } = summarise(new Map([[0, { hits, base_ns: 0n }]]), [{ part, ran }], load, duration_s)
  t.ok(Math.abs(Number(latency_ms?.p50) - 1) < 0.01, `p50 ${latency_ms?.p50} ms`)
  t.ok(Number(hosts?.[0].lateness_ms?.max) < 0.1, `${hosts?.[0].lateness_ms?.max} ms late`)
})

t.test('the CPU of a vegeta that waited for late answers is spread over the time for which it ran', async (t) => {
  const shareWith = (/** @type {number} */ last_ms) => {
    const hits = [0, 1].map((seq) => {
      return { seq, begin_ms: seq * 1000, latency_ms: seq === 1 ? last_ms : 1, status: 201, error: '', entry: 0 }
    })
    const host = /** @type {any} */ ({ host: 'u@a', cores: 2 })
    const part = { index: 0, of: 1, address: null, host }
    const ran = { told_ns: null, word_ms: null, cpu_s: 1 }
    const load = /** @type {any} */ ({ rate_rps: 1, connections: WORKERS, load_hosts: [host] })
    return summarise(new Map([[0, { hits, base_ns: 0n }]]), [{ part, ran }], load, 2).hosts?.[0].cpu_core_ratio
  }
  t.equal(shareWith(1), 0.5, 'a second of CPU in a load of two')
  t.equal(shareWith(9000), 0.1, 'which took ten until the last answer')
})
