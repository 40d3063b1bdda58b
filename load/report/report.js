import { count, offered, trialTable } from './table.js'

/**
 * report.md: the answer, the table, and what has to be known to trust both. Derived from run.json and trials.ndjson alone.
 *
 * @param {any} run run.json
 * @param {import('../trial.js').TrialRecord[]} records
 * @returns {string} markdown
 */
export function renderReport(run, records) {
  const parts = [
    `# Redline ${run.verb}: ${run.run_id}`,
    answerText(run, records),
    trialTable(records),
    reasons(records),
    `## How it was measured`,
    method(run, records),
    `## Where`,
    whereAndWhen(run),
  ]
  return `${parts.filter(Boolean).join('\n\n')}\n`
}

/**
 * What the run found, in sentences, for the terminal and for the report's top.
 *
 * @param {any} run
 * @param {import('../trial.js').TrialRecord[]} records
 * @returns {string}
 */
export function answerText(run, records) {
  const answer = run.problem ? `No trustworthy answer: ${run.problem}.` : capacitySentence(run, records)
  const sentences = [answer, ...run.warnings.map((/** @type {string} */ text) => `Warning: ${text}.`)]
  return sentences.filter(Boolean).join('\n')
}

/** @param {any} run @param {import('../trial.js').TrialRecord[]} records */
function capacitySentence({ capacity, slo, interrupted }, records) {
  const cut = interrupted ? 'The run was interrupted; --resume with its folder goes on from here. ' : ''
  if (!capacity) {
    const best = Math.max(
      0,
      ...records.filter((r) => r.outcome.verdict !== 'invalid').map((r) => r.traffic.goodput_rps),
    )
    return `${cut}No open-loop rate was judged. Highest goodput seen: ${count(Math.round(best))}/s.`
  }
  const goal = `every answer a success, p99 <= ${slo.p99_ms} ms`
  const { low_rps, high_rps } = capacity
  if (low_rps === null)
    return `${cut}The SLO (${goal}) was not met at ${count(high_rps)}/s, nor at any rate below that was tried.`
  if (high_rps === null) return `${cut}The SLO (${goal}) was met up to ${count(low_rps)}/s, the highest rate offered.`
  return `${cut}The SLO (${goal}) was met up to ${count(low_rps)}/s and no longer at ${count(high_rps)}/s.`
}

/** Every verdict but a pass, with its reason. @param {import('../trial.js').TrialRecord[]} records */
function reasons(records) {
  return records
    .filter(({ outcome }) => outcome.verdict !== 'pass')
    .map(({ load, outcome }) => `- ${offered(load)}: **${outcome.verdict}**, ${outcome.because}`)
    .join('\n')
}

/** @param {any} run @param {import('../trial.js').TrialRecord[]} records */
function method(run, records) {
  const { plan, pinning } = run
  const rows = plan.url
    ? 'rows are not counted: the database behind a URL is not ours'
    : 'the stored rows are counted after it'
  const table = plan.url ? 'The service ran already and was left as it is' : 'The table is emptied before each trial'
  const lines = [
    `- Trials of ${plan.duration_s} s after ${plan.warmup_s} s of warm-up. ${table}; ${rows}.`,
    ...new Set(records.map(({ load }) => loopLine(load))),
    `- ${pinning}`,
    ...[settingsLine(records)].filter(Boolean),
    '- p50, p99 and max are exact, over every request of a trial that was answered or timed out.',
    ...[generatorLine(records)].filter(Boolean),
    `- Command: \`npm run ${run.verb} -- ${run.argv.join(' ')}\`, seed ${plan.mix.seed}.`,
  ]
  return lines.join('\n')
}

/** @param {any} load */
function loopLine({ driver, loop, connections }) {
  return loop === 'open'
    ? `- Open loop (${driver}, ${connections} connections): requests leave on a schedule; latency counts from the intended send time.`
    : `- Closed loop (${driver}, ${connections} connections): each sends when its answer has come.`
}

/**
 * What decides most about a local target, as it was read back from the process.
 *
 * @param {import('../trial.js').TrialRecord[]} records
 */
export function settingsLine([first]) {
  const shown = ['INSERT_MODE', 'POOL_MAX', 'POOL_CONNECT_TIMEOUT_MS', 'MAX_QUEUE_MS', 'PASSWORD_STORAGE', 'NOFILE']
  const set = shown.filter((name) => first?.settings[name] !== undefined)
  return set.length > 0 && `- Settings, read back: ${set.map((name) => `${name}=${first.settings[name]}`).join(', ')}.`
}

/** @param {import('../trial.js').TrialRecord[]} records */
function generatorLine(records) {
  const late = records.map(({ probes }) => probes.generator.lateness_ms?.p99).filter((ms) => ms !== undefined)
  return late.length > 0 && `- The generator itself was late by at most ${Math.max(...late)} ms at p99 in any trial.`
}

/**
 * Machine, versions and date, as a list.
 *
 * @param {any} run run.json
 */
export function whereAndWhen({ machine, versions, started_at, finished_at }) {
  const memory = `${(machine.memory_bytes / 2 ** 30).toFixed(0)} GiB`
  return [
    `- ${machine.cpu_model}, ${machine.cores} cores, ${memory}, ${machine.kernel}`,
    `- Node ${versions.node}, Postgres ${versions.postgres ?? 'not ours'}, Redline ${versions.redline_commit ?? 'without git'}, ${versions.driver}`,
    `- ${started_at} to ${finished_at ?? '(not finished)'}`,
  ].join('\n')
}
