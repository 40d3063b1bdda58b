import { Samples } from './recorder.js'

/**
 * @import { MixPlan } from '../mix.js'
 * @import { Distribution } from './recorder.js'
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
