import { DETECTORS } from '../../../load/verdict/detectors/index.js'

/** @import { Test } from 'tap' */

export const SLO = { p99_ms: 100, success_ratio: 1 }

/** @typedef {[about: string, changes: any, reach: number, evidence: string[]]} Row */

/** An open loop of 1,000 requests at 500/s, of which nothing is known but what is given. @param {any} changes */
export function trial({ target, settings = {}, load, traffic, probes }) {
  return /** @type {any} */ ({
    target: { kind: 'spawned', cores: '0', ...target },
    settings,
    load: { loop: 'open', connections: 64, duration_s: 10, ...load },
    traffic: {
      planned: 1000,
      completed: 1000,
      achieved_rps: 500,
      goodput_rps: 500,
      status: { 201: 1000 },
      errors: {},
      ...traffic,
    },
    probes: { api: {}, postgres: {}, generator: {}, kernel: {}, ...probes },
  })
}

/** @param {Test} t @param {string} resource @param {Row[]} rows */
export function check(t, resource, rows) {
  for (const [about, changes, expected, evidence] of rows) {
    const found = DETECTORS[resource](trial(changes), SLO)
    t.ok(Math.abs(found.reach - expected) < 1e-9, `${about}: ${found.reach}, expected ${expected}`)
    t.strictSame(found.evidence, evidence, about)
  }
}
