import t from 'tap'
import { conclusionText, PUBLISHED } from '../../../../../tuning/experiments/compare/published.js'
import { runOf, textOf } from '../../../../support/made-up/compare.js'

const OURS = /** @type {any} */ ({ a: { url: null, file: 'a.env' }, b: { url: null, file: 'b.env' } })
const THEIRS = /** @type {any} */ ({ a: { url: 'http://a/', file: null }, b: { url: 'http://b/', file: null } })

const BETTER = { because: '', tied: false, verdict: 'B is better' }
const WORSE = { because: '', tied: false, verdict: 'B is worse' }
const TIED = { because: '', tied: true, verdict: 'tied' }
const UNKNOWN = { because: 'too few blocks', tied: true, verdict: 'tied' }

/** @type {[name: string, differences: (typeof BETTER)[], sides: any, text: RegExp][]} */
const CONCLUSIONS = [
  [
    'agrees if B is better in everything',
    [BETTER, BETTER],
    OURS,
    / Here, too, B is better in all 2 comparisons\. The publication compared two public services .*; this run compared two configurations of one API on one machine\.$/,
  ],
  [
    'says why it need not agree where B is better in some',
    [BETTER, WORSE, TIED, UNKNOWN],
    OURS,
    / Of 4 comparisons here, B is better in 1, worse in 1, tied with A in 1, not compared in 1; the two conclusions need not agree: the publication compared .*; this run compared two configurations of one API on one machine\.$/,
  ],
  [
    'names no machine that it does not know',
    [TIED, TIED],
    THEIRS,
    / Of 2 comparisons here, B is tied with A in 2; .* this run compared two services that were already running, each behind a URL\.$/,
  ],
  [
    'holds where nothing could be compared, and for one side of ours',
    [UNKNOWN, UNKNOWN],
    { a: OURS.a, b: THEIRS.b },
    / Of 2 comparisons here, B is not compared in 2; .* this run compared this API and a service that was already running\.$/,
  ],
  [
    'says so if the sides ran on two machines',
    [WORSE, WORSE],
    { a: OURS.a, b: { ...OURS.b, ssh: { host: 'box' } } },
    / B is worse in 2; .* this run compared two configurations of one API on two machines\.$/,
  ],
]

for (const [name, differences, sides, text] of CONCLUSIONS) {
  t.test(`the conclusion next to the published one: ${name}`, async (t) => {
    const found = conclusionText(differences, sides)
    t.match(found, /^It concludes that B is the better service: /)
    t.match(found, text)
  })
}

t.test('the report says where the publication misreads its own data', async (t) => {
  const { b, b_text_rps, requests } = PUBLISHED.maximum
  const { workers, asked, answered } = requests
  t.equal(Math.floor(asked / workers) * workers, answered, 'each worker of hey sends the same number')
  t.ok(b.length > 0 && b.every((/** @type {any} */ { rps }) => rps < b_text_rps))
  const text = textOf(runOf({ noise: 0 }))
  t.match(text, "Its text gives about 580/s as B's maximum, where its own data say 548/s.")
  t.match(text, 'At 300 workers it got 900 responses where it asked for 1,000')
  t.match(text, /It concludes that B is the better service: .*\. Of 4 comparisons here, B is /)
})
