import { offered, printable } from './format.js'

/** @import { Run, TrialRecord } from './record.js' */

/** @type {Record<string, string>} */
const ESCAPED = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\n': '&#10;' }

/**
 * A run as a test suite, for CI: whether it has a trustworthy answer and, if rates were requested, whether each of them met the SLO.
 * The rates of a search are not tests, since some of them have to fail.
 * @param {Pick<Run, 'verb' | 'run_id' | 'started_at' | 'problem' | 'failure' | 'interrupted'> & { plan?: Partial<Run['plan']> }} run
 * @param {TrialRecord[]} records @param {string} answer in words
 */
export function junitOf({ verb, run_id, started_at, problem, interrupted, failure, plan }, records, answer) {
  const asked = plan?.rates_rps ? records.filter(({ at }) => at.phase === 'ladder') : []
  const why = problem ?? (interrupted ? 'the run was interrupted' : (failure ?? null))
  const cases = [
    { name: 'a trustworthy answer', problem: why, time_s: 0 },
    ...[...new Set(asked.map(({ load }) => offered(load)))].map((name) => {
      const own = asked.filter(({ load }) => offered(load) === name)
      return { name, problem: problemOf(own), time_s: own.reduce((sum, { load }) => sum + load.duration_s, 0) }
    }),
  ]
  const failures = cases.filter((one) => one.problem).length
  const time_s = records.reduce((sum, { load }) => sum + load.duration_s, 0)
  const totals = { tests: cases.length, failures, time: time_s }
  const suite = { name: `redline ${verb}`, id: run_id, timestamp: started_at, ...totals }
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${attributes(totals)}>`,
    `  <testsuite ${attributes(suite)}>`,
    ...cases.map(({ name, problem, time_s }) => {
      const own = attributes({ classname: `redline.${verb}`, name, time: time_s })
      if (!problem) return `    <testcase ${own}/>`
      return `    <testcase ${own}><failure ${attributes({ message: problem })}/></testcase>`
    }),
    `    <system-out>${safe(answer)}</system-out>`,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

/** The reason why a rate did not pass, by majority of its valid trials; null if it passed. @param {TrialRecord[]} trials at that rate */
function problemOf(trials) {
  const valid = trials.filter(({ outcome }) => outcome.verdict !== 'invalid')
  const others = valid.filter(({ outcome }) => outcome.verdict !== 'pass')
  if (valid.length > 0 && others.length * 2 < valid.length) return null
  const { outcome } = others.at(-1) ?? trials[trials.length - 1]
  return `${outcome.verdict}: ${outcome.because}`
}

/** @param {Record<string, string | number>} values */
function attributes(values) {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${safe(String(value), /[&<>"\n]/g)}"`)
    .join(' ')
}

/** @param {string} text @param {RegExp} special */
function safe(text, special = /[&<>]/g) {
  return printable(text).replace(special, (character) => ESCAPED[character])
}
