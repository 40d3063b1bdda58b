import { Samples } from './recorder.js'

/**
 * @import { MixPlan } from '../mix.js'
 * @import { Distribution, Traffic } from './recorder.js'
 */

/**
 * What an outside program counted, as the traffic of a closed loop.
 *
 * @param {Tally} tally
 * @returns {Traffic}
 */
export function trafficOf({ planned, sent, run_s, status, errors, per_second, latencies, ok_latencies }) {
  const completed = sum(Object.values(status))
  const ok = sum(Object.entries(status).map(([code, count]) => (code[0] === '2' ? count : 0)))
  return {
    planned,
    sent,
    completed,
    achieved_rps: Number((completed / run_s).toFixed(2)),
    goodput_rps: Number((ok / run_s).toFixed(2)),
    success_ratio: planned === 0 ? 0 : ok / planned,
    status,
    errors: Object.fromEntries(Object.entries(errors).filter(([, count]) => count > 0)),
    latency_ms: distributionOf(latencies),
    ok_latency_ms: distributionOf(ok_latencies),
    lateness_ms: null,
    queued_ms: null,
    per_second,
  }
}

/**
 * @typedef {object} Tally
 * @property {number} planned
 * @property {number} sent
 * @property {number} run_s
 * @property {Record<string, number>} status
 * @property {Record<string, number>} errors by side and kind
 * @property {{ completed: number, ok: number }[]} per_second
 * @property {Counted[]} latencies
 * @property {Counted[]} ok_latencies
 *
 * @typedef {[latency_us: number, count: number]} Counted
 */

/**
 * Answers by the entry of the mix that asked. Nothing where the mix has no entries.
 *
 * @param {Pick<MixPlan, 'entries'>} mix
 * @returns {{ answer: (name: string, status: number, latency_ms: number) => void, summary: () => { by_entry?: ByEntry } }}
 */
export function countByEntry({ entries }) {
  if (!entries) return { answer: () => {}, summary: () => ({}) }
  const counts = new Map(entries.map(({ name }) => [name, { completed: 0, ok: 0, latencies: new Samples() }]))
  return {
    answer(name, status, latency_ms) {
      const entry = counts.get(name)
      if (!entry) return
      entry.completed++
      if (status >= 200 && status < 300) entry.ok++
      entry.latencies.add(latency_ms)
    },

    summary() {
      const rows = [...counts].map(([name, { completed, ok, latencies }]) => {
        return [name, { completed, ok, latency_ms: latencies.distribution() }]
      })
      return { by_entry: Object.fromEntries(rows) }
    },
  }
}

/**
 * @typedef {Record<string, { completed: number, ok: number, latency_ms: Distribution | null }>} ByEntry
 */

/** @param {Counted[]} latencies */
export function distributionOf(latencies) {
  const samples = new Samples()
  for (const [us, count] of latencies) for (let i = 0; i < count; i++) samples.add(us / 1000)
  return samples.distribution()
}

/** @param {number[]} numbers */
function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0)
}
