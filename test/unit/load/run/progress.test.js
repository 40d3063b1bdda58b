import t from 'tap'
import { createProgress, paceOf, screenOf } from '../../../../load/run/progress.js'

const PLAN = /** @type {any} */ ({ trial: 3, rate_rps: 20_000, warmup_s: 0.5, duration_s: 2 })
const RECORD = /** @type {any} */ ({
  ...{ trial: 3, cell: null, load: PLAN, traffic: { achieved_rps: 19_998.7 } },
  outcome: { verdict: 'pass', because: 'p99 12 ms <= 100 ms' },
})

/** A stream that keeps what is written. @param {object} kind @returns {any} */
function streamOf(kind) {
  const written = /** @type {string[]} */ ([])
  return { ...kind, written, write: (/** @type {string} */ text) => written.push(text), text: () => written.join('') }
}

t.test('on a terminal one view tells the trial, the load, what the search thinks and the time left', async (t) => {
  const stream = streamOf({ isTTY: true, columns: 120, rows: 40 })
  const progress = createProgress(stream, {})
  progress.note('starting Postgres …')
  progress.trialStarted(PLAN, 30, null, 'so far 18,000 to 22,000/s: narrowing it down')
  t.match(stream.text(), /starting Postgres …\n.*trial 3 of about 12, 30 s left/s)
  t.match(stream.text(), 'offered 20,000/s | warming up')
  progress.tick({ sent: 100, completed: 90, ok: 90, failed: 0, p99_ms: 12.34, api_core_ratio: 0.873 })
  const seen = stream.text()
  t.match(seen, /achieved [\d,]+\/s \| p99 12\.3 ms \| API core 87 % \| 0 errors/)
  t.match(seen, 'so far 18,000 to 22,000/s: narrowing it down')
  progress.trialEnded(RECORD)
  progress.trialStarted({ ...PLAN, trial: 4, rate_rps: 22_000 }, 20, { POOL_MAX: 80 })
  t.match(stream.text(), 'before: offered 20,000/s, achieved 19,999/s, pass: p99 12 ms <= 100 ms')
  t.match(stream.text(), 'POOL_MAX=80, offered 22,000/s')
  progress.stop()
  t.notMatch(stream.text(), '\u001b[?25l', 'the cursor stays: a run that is killed leaves the terminal as it was')
  const before = stream.written.length
  progress.tick({ sent: 1, completed: 1, ok: 1, failed: 0 })
  t.equal(stream.written.length, before, 'nothing is drawn when it has stopped')
})

t.test('a line per trial where nobody watches, or colours and tricks are not wanted', async (t) => {
  for (const [kind, env] of [
    [{ isTTY: false }, {}],
    [{ isTTY: true, columns: 80 }, { NO_COLOR: '1' }],
  ]) {
    const stream = streamOf(kind)
    const progress = createProgress(stream, /** @type {any} */ (env))
    progress.trialStarted(PLAN, 30, null, 'narrowing it down')
    progress.tick({ sent: 100, completed: 90, ok: 90, failed: 0 })
    progress.trialEnded(RECORD)
    progress.stop()
    t.equal(stream.text(), 'trial 3: offered 20,000/s, achieved 19,999/s, pass: p99 12 ms <= 100 ms\n')
  }
})

t.test('the view is no wider than the terminal, and its bar is full at the end', async (t) => {
  const shown = {
    ...{ trial: 1, trials: 1, about: 'x'.repeat(200), before: '', offered: 'offered 1/s' },
    ...{ done_s: 10, passed_s: 5, left_s: 3 },
  }
  const lines = screenOf(shown, 60)
  t.equal(lines.length, 3)
  for (const line of lines) t.ok(line.length <= 60, line)
  t.match(lines[0], /^█{24} trial 1 of about 1, 0 s left/)
  t.match(lines[2], /x…$/)
  t.match(screenOf({ ...shown, done_s: 0, passed_s: 0, left_s: 125 }, 60)[0], /^░{24} .* 2 min 5 s left/)
})

t.test('a run that is slower than planned shows more time left', async (t) => {
  /** @type {[number, number, number, string][]} */
  const rows = [
    [600, 600, 1, 'as planned'],
    [600, 1500, 2.5, 'tables are filled between the trials'],
    [600, 500, 1, 'faster than planned: a search may yet need every trial'],
    [600, 36_000, 4, 'a laptop was closed in between'],
    [59, 118, 1, 'too early to tell'],
    [60, 120, 2, 'not any more'],
    [-30, 60, 1, 'a search that expects more trials than before'],
  ]
  for (const [planned_s, took_s, pace, about] of rows) t.equal(paceOf(planned_s, took_s), pace, about)
})

t.test('a note, a trial and the live view print what a terminal would obey', async (t) => {
  const wipe = '\u001b[2J'
  const record = { ...RECORD, outcome: { verdict: 'fail', because: wipe } }
  const stream = streamOf({ isTTY: false })
  const progress = createProgress(stream, {})
  progress.note(`the build said ${wipe}`)
  progress.trialEnded(record)
  t.equal(stream.text(), 'the build said \ufffd[2J\ntrial 3: offered 20,000/s, achieved 19,999/s, fail: \ufffd[2J\n')
  const shown = { trial: 1, trials: 1, about: wipe, before: wipe, offered: '', done_s: 0, passed_s: 0, left_s: 1 }
  t.notMatch(screenOf(shown, 100).join(), wipe)
})
