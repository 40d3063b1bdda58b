/** A run.json with all that its readers rely on. @param {object} [changes] @returns {any} */
export function wholeRun(changes) {
  const slo = { p99_ms: 100, success_ratio: 0.999 }
  const plan = { url: null, driver: 'paced', connections: [], slo, mix: { name: 'users', seed: 1 } }
  return { run_id: 'id', verb: 'sweep', argv: [], started_at: '2026-01-01T00:00:00.000Z', plan, ...changes }
}

/** A line of trials.ndjson with all that its readers rely on. @param {number} trial @returns {any} */
export function wholeTrial(trial) {
  return {
    ...{ run_id: 'id', trial, started_at: '2026-01-01T00:00:00.000Z', experiment: 'sweep', at: { phase: 'ladder' } },
    ...{ cell: null, settings: {}, target: { kind: 'local' } },
    load: { driver: 'paced', loop: 'open', rate_rps: 100, connections: 8, warmup_s: 0, duration_s: 1 },
    traffic: { goodput_rps: 100, planned: 100, status: { 201: 100 }, errors: {} },
    probes: { api: {}, generator: {} },
    outcome: { verdict: 'pass', because: 'made up' },
    limit: { resource: 'none-reached', evidence: [] },
  }
}
