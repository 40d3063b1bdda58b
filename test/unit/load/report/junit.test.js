import t from 'tap'
import { junitOf } from '../../../../load/report/junit.js'

const RUN = {
  verb: 'sweep',
  run_id: '1-sweep',
  started_at: '2026-11-23T00:00:00.000Z',
  problem: null,
  interrupted: false,
}
/** @param {number} trial @param {number} rate_rps @param {object} outcome @param {string} [phase] @returns {any} */
const record = (trial, rate_rps, outcome, phase = 'ladder') => {
  return { trial, at: { phase }, load: { rate_rps, duration_s: 2 }, outcome }
}
const PASS = { verdict: 'pass', because: 'fine' }
const FAIL = { verdict: 'fail', because: 'p99 120 ms > "100 ms" & <late>\nby far\u0001' }

t.test('each rate that was asked for is a test, and so is the answer', async (t) => {
  const records = [record(1, 1000, PASS), record(2, 2000, FAIL)]
  const text = junitOf({ ...RUN, plan: { rates_rps: [1000, 2000] } }, records, '1,000/s < 2,000/s')
  t.match(text, '<testsuites tests="3" failures="1" time="4">')
  t.match(text, '<testcase classname="redline.sweep" name="a trustworthy answer" time="0"/>')
  t.match(text, '<testcase classname="redline.sweep" name="1,000/s" time="2"/>')
  t.match(text, 'message="fail: p99 120 ms &gt; &quot;100 ms&quot; &amp; &lt;late&gt;&#10;by far\ufffd"')
  t.match(text, '<system-out>1,000/s &lt; 2,000/s</system-out>')
})

t.test('a rate passes by the majority of its valid trials; an interrupted run has no answer', async (t) => {
  const noisy = record(1, 1000, { verdict: 'invalid', because: 'noise' })
  const records = [noisy, record(2, 1000, PASS), record(3, 2000, FAIL), record(4, 2000, PASS), record(5, 2000, PASS)]
  const own = { plan: { rates_rps: [1000, 2000] } }
  t.match(junitOf({ ...RUN, ...own }, records, ''), '<testsuites tests="3" failures="0" time="10">')
  t.match(junitOf({ ...RUN, ...own }, records.slice(0, 4), ''), 'failures="1"', 'one of each is no majority')
  t.match(junitOf({ ...RUN, ...own }, [noisy], ''), '<failure message="invalid: noise"/>')
  t.match(junitOf({ ...RUN, ...own, interrupted: true }, [], ''), '<failure message="the run was interrupted"/>')
})

t.test('the rates of a search are no tests, and a missing answer is a failure', async (t) => {
  const text = junitOf({ ...RUN, problem: 'too noisy', plan: { rates_rps: null } }, [record(1, 9, FAIL, 'search')], '')
  t.match(text, '<testsuites tests="1" failures="1" time="2">')
  t.match(text, '<failure message="too noisy"/>')
})
