import { readFileSync } from 'node:fs'
import { goodputOf, successOf } from '../../stats/measures.js'

/**
 * @import { Claim as Expectation } from '../../stats/effects.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/** @typedef {{ title: string, decimals: number, value: (record: TrialRecord) => number | undefined }} Measure title: with its unit */

/** Measures that claims are about. @satisfies {Record<string, Measure>} */
export const MEASURES = {
  goodput: { title: 'goodput, /s', decimals: 0, value: goodputOf },
  success: { title: 'success, %', decimals: 2, value: (record) => 100 * successOf(record) },
  cpu: { title: 'CPU per request, us', decimals: 1, value: ({ probes }) => probes.api.cpu_us_per_request },
  p99: { title: 'p99, ms', decimals: 1, value: ({ traffic }) => traffic.latency_ms?.p99 },
  ok_p99: { title: 'p99 of the successes, ms', decimals: 1, value: ({ traffic }) => traffic.ok_latency_ms?.p99 },
}

/**
 * A claim of the playbook: a sentence in its own words, by chapter (a symptom) of tuning/PLAYBOOK.md; the experiment that tests it, and
 * the effect on the measure of a cell other than the first. `least_ratio` is the smallest effect that would be worth a change.
 * @typedef {Expectation & { id: string, chapter: string, sentence: string, experiment: string, cell: number,
 *   measure: keyof typeof MEASURES }} Claim cell: by default, the second (1)
 */

/** @type {Record<string, (Omit<Claim, 'chapter' | 'cell'> & { cell?: number })[]>} */
const CHAPTERS = JSON.parse(readFileSync(new URL('claims.json', import.meta.url), 'utf8'))

/** @type {Claim[]} */
export const CLAIMS = Object.entries(CHAPTERS).flatMap(([chapter, own]) => {
  return own.map((claim) => ({ chapter, cell: 1, ...claim }))
})
