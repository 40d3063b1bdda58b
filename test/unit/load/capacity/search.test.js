import t from 'tap'
import { intervalAround } from '../../../../load/capacity/confidence.js'
import { scoreOf } from '../../../../load/capacity/of-records.js'
import { edgesOf, intervalOf, nextTrial, SEARCH_DEFAULTS, searchProblem } from '../../../../load/capacity/search.js'

/** @import { SearchTrial } from '../../../../load/capacity/search.js' */

const PLAN = { ...SEARCH_DEFAULTS, precision_ratio: 0.05, plateau_rps: 1000 }
const VERDICTS = /** @type {const} */ ({ P: 'pass', F: 'fail', I: 'invalid', S: 'invalid' })

/**
 * '700P 1000F+2.5 700P@8': rate, verdict (S: made at another speed), score unless 1 off the SLO, seconds unless 2.
 * @param {string} text
 * @returns {SearchTrial[]}
 */
function trials(text) {
  return [...text.matchAll(/(\d+)([PFIS])([+-][\d.]+)?(?:@(\d+))?/g)].map(([, rate, letter, score, duration]) => ({
    rate_rps: Number(rate),
    verdict: VERDICTS[/** @type {'P'} */ (letter)],
    score: score ? Number(score) : letter === 'P' ? -1 : 1,
    duration_s: Number(duration ?? 2),
    ...(letter === 'S' && { other_speed: /** @type {const} */ (true) }),
  }))
}

/** @param {string} text */
function next(text, plan = PLAN) {
  const found = nextTrial(trials(text), plan)
  return found && `${found.rate_rps} ${found.purpose}`
}

t.test('nextTrial decides step by step', async (t) => {
  const rows = [
    ['', '700 bracket', 'starts below the plateau'],
    ['700P', '980 bracket', 'up while it passes'],
    ['700P 980P 1370P', '1920 bracket', 'and up'],
    ['700P 980P 1370P 1920P', '3840 bracket', 'in larger steps where the plateau was no guide'],
    ['700F', '700 edge', 'a fail far below the plateau is repeated before it is believed'],
    ['700F 700P', '700 edge', 'a tie is repeated'],
    ['700F 700P 700P', '980 bracket', 'the majority has it: up'],
    ['700F 700F', '490 bracket', 'down when it fails twice'],
    ['700F 700F 490F', '245 bracket', 'and down, on single fails: the rate above failed too'],
    ['700P-1 980F+2', '819 bracket', 'beside where the scores cross 0, on the wider side'],
    ['700P-2 980F+1', '837 bracket', 'and that may be below it'],
    ['700P-0.1 980F+2', '770 bracket', 'the scores put the crossing near the pass: a fair share of the bracket goes'],
    ['700P-2 980F+0.1', '891 bracket', 'the scores put the crossing near the fail'],
    ['700P 980P 1370F 864F', '864 edge', 'a fail below a pass is repeated'],
    ['700P 980P 1370F 864F 864P', '1110 bracket', 'and one pass is enough there'],
    ['700P 980P 1370F 864F 864F', '784 bracket', 'two fails outweigh the pass above them'],
    ['900P 980F', '900 edge', 'the bracket is narrow: its edges are repeated'],
    ['900P 980F 900P', '980 edge', 'one after the other'],
    ['900P 980F 900P 980F', '900 confirm', 'both are decided: one long trial'],
    ['900P 980F 900P 980F 900P@8', null, 'which passes: done'],
    ['900P 980F 900F', '900 edge', 'an edge that fails once and passes once'],
    ['900P 980F 900F 900F 700P', '759 bracket', 'an edge that fails twice of three is the upper one now'],
    ['900P 980F 900P 980P', '980 edge', 'a tie above'],
    ['900P 980F 900P 980P 980P', '1370 bracket', 'an upper edge that passes twice of three: up again'],
    ['900P-2 980F 900P-2 980F', '980 edge', 'two fails right above a deep pass may be one long stall: a third trial'],
    ['900P-2 980F 900P-2 980F 980F', '900 confirm', 'which agrees'],
    ['900P-2 980F 900P-2 980F 980I 980I 980I', '900 confirm', 'or cannot be had'],
    ['900P 980F 900P 980F 900I@8', '900 confirm', 'an invalid long trial is repeated'],
    ['900P 980F 900P 980F 900I@8 900I@8 900I@8', '630 bracket', 'and the rate given up: down'],
    ['900P 980F 900P 980F 900F@8', '900 confirm', 'a long trial that failed is repeated once'],
    ['900P 980F 900P 980F 900F@8 900P@8', null, 'and passes'],
    ['900P 980F 900P 980F 900F@8 900F@8', '630 bracket', 'a rate that fails two long trials failed: down'],
    ['700P 980I', '980 bracket', 'an invalid trial is repeated'],
    ['700P 980I 980I', '980 bracket', 'and again'],
    ['700P 980I 980I 980I', '810 bracket', 'and given up, which bounds the search as a fail would'],
    ['900P 980I 980I 980I', '900 edge', 'then the lower edge is decided'],
    ['900P 980I 980I 980I 900P', '900 confirm', 'and confirmed'],
    ['900P 980I 980I 980I 900P 900P@8', null, 'at least 900'],
    ['700P 980F 864I 864I 864I', '714 bracket', 'nothing above a rate that was given up is known'],
    [
      '700P 900P 980F 900P 980F 900I@8 900I@8 900I@8',
      '744 bracket',
      'a rate that was given up after it had passed bounds the search, and is no part of the fit',
    ],
    ['900P 980F 900F 900P', '980 edge', 'the edge with fewer trials first'],
    ['900P 980F 980F 900F 900P 900F 900P', '900 confirm', 'three of five decide'],
    ['700P 980F 700F@8 700F@8', '490 bracket', 'a rate that failed two long trials needs no further short one'],
    ['700P-1 700I+3 980F+2', '819 bracket', 'whatever an invalid trial scored'],
    ['700P-1 700P-3 700P-2 980F+1', '837 bracket', 'the median score of a rate counts'],
    ['100P-2 1000F+0.1', '562 bracket', 'of a wide bracket a fair share goes, wherever the scores cross'],
    ['900P-1.05 1015F+1', '927 bracket', 'and of a narrower one, where one trial more will not do'],
    ['700P 980P 980F', '980 edge', 'a tie at the highest rate'],
    ['700P 800F 800F 980P 980F', '727 bracket', 'a tie above a rate that fails is of no interest'],
    ['900P 800F 800P 800F', '560 bracket', 'the majority is believed, although a higher rate passed'],
    ['700F 980I', '700 edge', 'an invalid trial above an unexpected fail says nothing'],
    ['800F', '560 bracket', 'a fail at four fifths of the plateau is not unexpected'],
    ['1500P', '2100 bracket', 'one step above the plateau'],
    ['700F 700F 490F 245F 123F 61F 30F 20F', '20 edge', 'the lowest rate that is tried is repeated too'],
    ['700F 700F 490F 245F 123F 61F 30F 20F 20F', null, 'even that failed'],
  ]
  for (const [text, expected, about] of /** @type {[string, string | null, string][]} */ (rows)) {
    t.equal(next(text), expected, `${about}: ${text}`)
  }
})

t.test('nextTrial gives up after max_trials that say something, or half as many more in all', async (t) => {
  t.equal(next('700P 980F', { ...PLAN, max_trials: 2 }), null)
  t.equal(next('700P 980I', { ...PLAN, max_trials: 2 }), '980 bracket')
  t.equal(next('700P 980I 980I', { ...PLAN, max_trials: 2 }), null)
})

t.test('nextTrial: trials at another speed of the core are repeated, and their rate is not given up', async (t) => {
  const rows = [
    ['700S', '700 bracket', 'as if it had not been made'],
    ['700P 980S 980S 980S 980S', '980 bracket', 'however many there are'],
    ['900P 980F 900P 980F 900S@8 900S@8 900S@8', '900 confirm', 'long ones too'],
    ['700P 980I 980S 980I', '980 bracket', 'they are not among the invalid ones of a rate'],
    ['700P 980I 980S 980I 980I', '810 bracket', 'which is given up after three of those'],
    [
      '821P 1150F 1020P 1100S 1100S 1100F 1020F 1020S 1020P 1100P 1100F 1020S 1020S 821S 821P',
      '1020 edge',
      'a search that met two speeds of a core',
    ],
  ]
  for (const [text, expected, about] of rows) t.equal(next(text), expected, `${about}: ${text}`)
  const six = { ...PLAN, max_trials: 4 }
  t.equal(next('700S 700S 700S 700S 700S', six), '700 bracket')
  t.equal(next('700S 700S 700S 700S 700S 700S', six), null, 'they count as trials')
})

t.test('nextTrial: rates are whole numbers from 1, of three digits', async (t) => {
  const slow = { ...PLAN, plateau_rps: 3 }
  t.equal(next('', slow), '2 bracket')
  t.equal(next('2P', slow), '3 bracket')
  t.equal(next('2P 3F', slow), '2 edge', 'there is nothing between 2 and 3')
  t.equal(next('2F 2F', slow), '1 bracket')
  t.equal(next('2F 2F 1P@10', slow), '1 edge')
  t.equal(next('1P', { ...PLAN, plateau_rps: 1 }), '2 bracket', 'up is up')
  t.equal(next('2F 2F 1F 1F', slow), null)
  t.equal(next('', { ...PLAN, plateau_rps: 123_456 }), '86400 bracket')
  const exact = { ...PLAN, precision_ratio: 0.001 }
  t.match(next('1000P 1010F', exact), /^100[1-9] bracket$/, 'of more digits where the bracket is that narrow')
  t.equal(next('1000P-2 1009F+0.01', exact), '1008 bracket', 'but always inside')
})

t.test('nextTrial: a trial at a low rate is long enough for as many requests', async (t) => {
  const of = (/** @type {number} */ plateau_rps) => nextTrial([], { ...PLAN, plateau_rps })?.duration_s
  t.equal(of(1000), 2)
  t.equal(of(400), 5)
  t.equal(of(100), 10, 'but no longer than that')
  const slow = { ...PLAN, plateau_rps: 100 }
  t.equal(next('90P@10 95F@10 90P@10 95F@10', slow), null, 'and it needs no longer one to confirm it')
  const asLong = { ...PLAN, plateau_rps: 180 }
  t.equal(next('173P@8 184F@7 173P@8 184F@7', asLong), null, 'nor does one that is as long as the confirming one')
})

t.test('edgesOf gives the largest pass below the smallest fail', async (t) => {
  const rows = [
    ['', null, 'nothing measured, nothing known'],
    ['700I', null, 'an invalid trial says nothing'],
    ['700P 980F', { low_rps: 700, high_rps: 980 }, 'an interval'],
    ['700P 980I 980F', { low_rps: 700, high_rps: 980 }, 'invalid trials are not counted'],
    ['700P 800F 980P', { low_rps: 700, high_rps: 800 }, 'a pass above a fail was luck'],
    ['700P 800F 800P 800P 980F', { low_rps: 800, high_rps: 980 }, 'by majority'],
    ['500I 500I 500I 700P 980F', { low_rps: 700, high_rps: 980 }, 'a rate given up below a pass is no bound'],
    ['700P 980P', { low_rps: 980, high_rps: null }, 'at least'],
    ['700P 980I 980I 980I', { low_rps: 700, high_rps: null }, 'at least, as far as the generator goes'],
    ['700P 980I 980I 980I 1370F', { low_rps: 700, high_rps: null }, 'a fail beyond its reach is not known'],
    ['700F', { low_rps: null, high_rps: 700 }, 'less than'],
    ['700P 980F 700F@8 700F@8', { low_rps: null, high_rps: 700 }, 'a long trial outweighs short ones'],
  ]
  for (const [text, expected, about] of /** @type {[string, any, string][]} */ (rows)) {
    t.strictSame(edgesOf(trials(text), PLAN), expected, about)
  }
})

t.test('a rate is placed around what the target kept up with, once its backlog has told', async (t) => {
  const [pass, fail] = trials('700P-1 980F+2')
  const found = nextTrial([pass, { ...fail, kept_rps: 900 }], PLAN)
  t.match(found, { rate_rps: 860, purpose: 'bracket' })
  t.not(nextTrial([pass, fail], PLAN)?.rate_rps, found?.rate_rps)
  t.ok(Number(nextTrial([pass, { ...fail, kept_rps: 500 }], PLAN)?.rate_rps) > 700, 'never below a rate that passed')
})

t.test('a sustained trial that was asked for is made even when the trials have run out', async (t) => {
  const plan = { ...PLAN, max_trials: 6, sustains: true }
  const short = '490P 490P 700P 700P 980F 980F'
  const rows = [
    [short, '700 confirm', 'of the highest rate that passed'],
    [`${short} 700P@8`, null, 'it passed'],
    [`${short} 700I@8`, '700 confirm', 'it was invalid'],
    [`${short} 700F@8`, '700 confirm', 'it may have been a stall'],
    [`${short} 700F 700F@8 700F@8`, null, 'nine trials are all, whatever they were'],
    [`490P 700P 980F 980F 980F 700F@8 700F@8`, '490 confirm', 'of the next rate below, if it fails again'],
    [`490P 700P 980F 980F 980F 700F@8 700F@8 490F@8`, '490 confirm', 'it may have been a stall'],
    [`490P 700P 980F 700F@8 700F@8 490F@8 490F@8`, null, 'both rates that passed are refuted'],
    ['700F 490F 700F 490F 700F 490F', null, 'no rate passed'],
  ]
  for (const [text, expected, about] of /** @type {[string, string | null, string][]} */ (rows)) {
    t.equal(next(text, plan), expected, about)
  }
  t.equal(next(short, { ...PLAN, max_trials: 6 }), null, 'it was not asked for')
})

t.test(
  'a rate that sustained trials refute is out, and what they could not keep up with, whatever short ones say',
  async (t) => {
    const plan = { ...PLAN, sustains: true }
    const short = '700P 820P 820P 860P 900P 900P 980F 980F'
    const refuted = [...trials(short), ...trials('900F@8 900F@8').map((trial) => ({ ...trial, kept_rps: 850 }))]
    t.strictSame(edgesOf(refuted, plan), { low_rps: 820, high_rps: 860 }, 'only 850/s were kept up with')
    t.strictSame(
      edgesOf(refuted, PLAN),
      { low_rps: 860, high_rps: 900 },
      'where none was asked for, the long one only refutes',
    )
    const [with_, without] = [plan, PLAN].map((one) => intervalOf(refuted, one))
    t.ok(Number(with_?.high_rps) < Number(without?.high_rps), 'the interval knows it, too')
    const lucky = [...refuted, ...trials('900P@8')]
    t.match(edgesOf(lucky, plan), { low_rps: 900 }, 'unless one of them passed')
    const lower = [...refuted, ...trials('860P@8')]
    t.match(edgesOf(lower, plan), { low_rps: 860, high_rps: 900 }, 'or passed above what was kept up with')
    const one = [...trials(short), ...trials('900F@8')]
    t.match(edgesOf(one, plan), { low_rps: 900 }, 'one may have been a stall')
    const interval = intervalOf(refuted, plan)
    t.match(
      searchProblem(refuted, plan, interval),
      /^expected a rate at which the SLO is kept for 8 s, found none: 2 trials/,
    )
    const held = [...refuted, ...trials('820P@8')]
    t.equal(searchProblem(held, plan, intervalOf(held, plan)), null)
  },
)

t.test('the interval is as wide as nine tenths of confidence ask for', async (t) => {
  const of = (/** @type {string} */ text) => /** @type {any} */ (intervalOf(trials(text), PLAN))
  t.equal(of('700I'), null, 'an invalid trial says nothing')
  t.strictSame(of('900P 980F 900P 980F 900P@8 900P 980F 980I'), {
    ...{ low_rps: 900, high_rps: 980, trials: 7 },
    confidence: of('900P 980F 900P 980F 900P@8 900P 980F').confidence,
  })
  const single = of('900P 980F')
  t.ok(single.low_rps < 900 && single.high_rps > 980, 'single trials may be luck')
  const contradicted = of('900P 980F 900P 980F 900P 900F 980P 980F')
  const agreed = of('900P 980F 900P 980F 900P 900P 980F 980F')
  t.ok(contradicted.high_rps - contradicted.low_rps > 1.5 * (agreed.high_rps - agreed.low_rps), 'contradictions')
  for (const { confidence } of [single, contradicted, agreed]) t.ok(confidence >= 0.9, String(confidence))
  t.match(of('900P 900P 900P 980I 980I 980I'), { high_rps: null, trials: 3 }, 'at least')
})

t.test('searchProblem says why there is no trustworthy answer', async (t) => {
  const rows = [
    ['', /^expected a rate with enough valid trials, got none: 0 of 0 were invalid/, 'no trial'],
    ['700I 700I 700I', /^expected a rate .* 3 of 3 were invalid/, 'no valid trial'],
    ['700P 980F', /^the search had not settled after 2 trials: 700\/s passed, 980\/s failed/, 'cut off'],
    ['700P 980F 980S 980S', /after 4 trials, of which 2 did not count, .* speed was unusual: 700\/s/, 'at two speeds'],
    ['900P 980F 900P 980F 900I@8 900I@8 900I@8', /^expected a rate .* 3 of 7 were/, 'a rate that cannot be confirmed'],
    ['7000P', /: 7,000\/s passed, none failed$/, 'a rate of four digits'],
    ['700P', /not settled after 1 trials: 700\/s passed, none failed$/, 'no upper bound'],
    ['700F', /not settled after 1 trials: none passed, 700\/s failed$/, 'no lower bound'],
    ['900P 980F 900P 980F', null, 'narrow enough: the confidence says how certain its edges are'],
    ['900P 980F 900P 980F 900P@8', null, 'an interval'],
    ['900P 980I 980I 980I 900P 900P@8', null, 'at least'],
    ['700F 700F 490F 245F 123F 61F 30F 20F 20F', null, 'less than'],
  ]
  for (const [text, expected, about] of /** @type {[string, RegExp | null, string][]} */ (rows)) {
    const problem = searchProblem(trials(text), PLAN, intervalOf(trials(text), PLAN))
    if (expected) t.match(problem, expected, about)
    else t.equal(problem, null, about)
  }
  const given = (/** @type {string} */ text, /** @type {number} */ low_rps, /** @type {number} */ high_rps) => {
    return searchProblem(trials(text), PLAN, { low_rps, high_rps, confidence: 0.9 })
  }
  t.equal(given('800P 980F', 800, 970), null, 'a search that ran out of trials has an answer of up to +-10 %')
  t.match(given('800P 980F', 800, 980), /not settled/, 'and none that is wider')
  t.equal(given('900P 980F', 800, 1300), null, 'contested edges may leave up to +-25 %')
  t.equal(given('1P@10 2F@10 1P@10 2F@10', 1, 2), null, 'rates are whole: there is none between these')
  t.match(given('1P@10 2F@10 1P@10 2F@10', 1, 3), /contradict/, 'but there is between these')
  t.match(
    given('900P 980F', 500, 1500),
    /^the trials contradict each other: for a confidence of 0.9, the capacity may be anywhere from 500\/s to 1,500\/s$/,
  )
})

t.test('scoreOf is ln(p99 / SLO), within bounds, and over the SLO where something else failed', async (t) => {
  const LOAD = { rate_rps: 1000, duration_s: 5, timeout_s: 10 }
  const slo = { p99_ms: 100, success_ratio: 1 }
  const traffic = { latency_ms: { p99: 100 }, success_ratio: 1, achieved_rps: 1000 }
  const score = (/** @type {any} */ changed) =>
    scoreOf(/** @type {any} */ ({ traffic: { ...traffic, ...changed }, load: LOAD }), slo)
  const rows = [
    [{}, 0, 'at the SLO'],
    [{ latency_ms: { p99: 200 } }, Math.LN2, 'twice the SLO'],
    [{ latency_ms: { p99: 50 } }, -Math.LN2, 'half of it'],
    [{ latency_ms: { p99: 1e6 } }, 3, 'far over'],
    [{ latency_ms: { p99: 0 } }, -3, 'far below'],
    [{ latency_ms: null }, 3, 'no answer at all'],
    [{ latency_ms: { p99: 50 }, success_ratio: 0.99 }, 1, 'answers that are no success'],
    [{ latency_ms: { p99: 50 }, achieved_rps: 930 }, 1, 'less than was offered'],
    [{ latency_ms: { p99: 50 }, achieved_rps: 932 }, -Math.LN2, 'the end of a trial is no lack'],
    [{ latency_ms: { p99: 1000 }, success_ratio: 0.5 }, Math.log(10), 'the worse of both'],
  ]
  for (const [changed, expected, about] of /** @type {[any, number, string][]} */ (rows)) {
    t.equal(score(changed), expected, about)
  }
  const slow = { traffic: { ...traffic, latency_ms: { p99: 2500 }, achieved_rps: 700 }, load: LOAD }
  t.equal(
    scoreOf(/** @type {any} */ (slow), { ...slo, p99_ms: 5000 }),
    -Math.LN2,
    'so is the wait that a long SLO allows',
  )
})

t.test('the confidence weighs every capacity by how well it explains the verdicts', async (t) => {
  const rows = [
    ['100P 100P 1000F 1000F', 100, 1000, 0.99, 'there it is; the model is not exact enough for more'],
    ['100P 100P 1000F 1000F', 1000, 2000, 0.01, 'nor for less elsewhere'],
    ['100P 100P 1000F 1000F', 100, 300, Math.log(3) / Math.log(10), 'all between are as likely, on a scale of ratios'],
    ['100P 100P 1000F 1000F', 300, 1000, Math.log(10 / 3) / Math.log(10), 'up to the rates that failed'],
    ['900P 900P 900P', 900, null, 0.98, 'three passes are no luck'],
    ['900F', null, 900, 0.95, 'a single fail may be a stall'],
    ['900F 900F', null, 900, 0.99, 'two hardly'],
  ]
  for (const [text, low, high, expected, about] of /** @type {[string, any, any, number, string][]} */ (rows)) {
    const found = intervalAround({ low_rps: low, high_rps: high }, trials(text), 0).confidence
    t.ok(Math.abs(found - expected) <= 0.02, `${about}: ${found}, expected ${expected}`)
  }
})
