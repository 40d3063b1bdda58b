import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { conclusionText, PUBLISHED } from '../../../../../tuning/experiments/ramp/published.js'
import { rampReport } from '../../../../../tuning/experiments/ramp/report.js'
import { findingsOf, PLAN, runOf, service } from './services.js'

const OURS = { a: { url: null, file: 'a.env' }, b: { url: null, file: 'b.env' } }
const HOSTS = { a: { url: null, file: null }, b: { url: null, file: null, ssh: { host: 'b' } } }

const BEGINS = /^By the published figures, one B does the work of 1\.5 to 1\.75 A, with 0\.60x of A's CPU\. Here, /

/** @param {number} estimate @param {number} low @param {number} high @param {number} [pairs] */
const work = (estimate, low, high, pairs = 8) => ({ estimate, low, high, pairs })

/** @type {[name: string, found: any, text: RegExp][]} */
const CONCLUSIONS = [
  [
    'another number of A, and CPU the other way round',
    { work: work(4, 3.5, 4.5), cpu_ratio: 1.7, sides: OURS },
    / Here, it does the work of 4\.00 \[3\.50–4\.50\] A, with 1\.70x of A's CPU: this differs from the published figures, but does not refute them: they compared two machines with different disks; this run compared two configurations of one API on one machine\.$/,
  ],
  [
    'fewer than published',
    { work: work(1.2, 1.1, 1.3), cpu_ratio: Number.NaN, sides: { ...OURS, b: { url: 'http://b/', file: null } } },
    / work of 1\.20 \[1\.10–1\.30\] A: this differs .*; this run compared this API and a service that was already running\.$/,
  ],
  [
    'the same number, but CPU the other way round',
    { work: work(1.6, 1.4, 1.8), cpu_ratio: 1.2, sides: OURS },
    /: this differs from the published figures, but does not refute them: they compared /,
  ],
  [
    'an interval that reaches into the published range, and less CPU',
    { work: work(1.9, 1.7, 2.1), cpu_ratio: 0.9, sides: OURS },
    /: this does not contradict the published figures, which compared two machines .*; this run compared two configurations of one API on one machine\.$/,
  ],
  [
    'two hosts of one API',
    { work: work(1.6, 1.5, 1.7), cpu_ratio: 0.6, sides: HOSTS },
    /: this does not contradict .*; this run compared one configuration of one API on two machines\.$/,
  ],
  [
    'too few blocks for an interval',
    { work: work(4, 0, Number.POSITIVE_INFINITY, 2), cpu_ratio: 0.6, sides: OURS },
    / work of 4\.00 A, with 0\.60x of A's CPU; there are too few blocks to say whether this agrees\.$/,
  ],
  [
    'no block that both sides met',
    { work: work(Number.NaN, 0, Number.POSITIVE_INFINITY, 0), cpu_ratio: 0.6, sides: OURS },
    / Here, it is not known how many of A do the work of one B\.$/,
  ],
  [
    'rates that are lower bounds',
    { work: null, cpu_ratio: 0.6, sides: OURS },
    / Here, it is not known how many of A do the work of one B\.$/,
  ],
  ['one side', { work: null, cpu_ratio: Number.NaN, sides: { a: OURS.a } }, / Here, there was no B\.$/],
]

for (const [name, found, text] of CONCLUSIONS) {
  t.test(`ours next to the published conclusion: ${name}`, async (t) => {
    const sentence = conclusionText(found)
    t.match(sentence, BEGINS)
    t.match(sentence, text)
    t.notMatch(sentence, /NaN|Infinity|undefined|null/)
  })
}

t.test('the report has every published claim next to ours, and names the background writes', async (t) => {
  const records = runOf(PLAN, { a: service(200, 20), b: service(400, 20) }, { noise: 0 })
  const textOf = (/** @type {object} */ plan) => markdownOf(rampReport(findingsOf({ ...PLAN, ...plan }, records)))
  const text = textOf({})
  t.match(text, /\| requests\/s, B to A +\| +1\.5 to 1\.75x \| +2\.00 \[2\.00–2\.00\]x \|/)
  t.match(text, /\| requests\/s, B to A, as its text claims +\| +1\.5 to 2x \| +2\.00 \[2\.00–2\.00\]x \|/)
  t.match(text, /\| latency, B to A .*, as its text claims +\| +0\.50x \| +0\.50x \|/)
  t.match(text, /\| efficiency, B to A .*, as its text claims +\| +at least 2x \| +2\.00x \|/)
  t.match(text, /\| CPU, B to A +\| +0\.60x \| +1\.00x \|/)
  t.match(text, /- By the published figures, one B does .* this run compared two services that were already running/)
  t.match(text, /Here: no background writes\.\n/)
  t.match(textOf({ background_rps: 200 }), /Here: 200 background writes\/s\.\n/)
})

t.test('a published ratio says if the node was syncing; 34,000/s is a ceiling of the node', async (t) => {
  const { b_to_a, cached_method_ceiling, notes } = PUBLISHED
  t.ok(b_to_a.length > 0 && b_to_a.every((/** @type {any} */ claim) => [true, false, null].includes(claim.sync)))
  t.strictSame(
    cached_method_ceiling.map((/** @type {any} */ { rps }) => rps),
    [31_000, 34_000],
  )
  t.match(notes[0], /^It first found the node's ceiling on a cached method \(not wrk's ceiling\)/)
})
