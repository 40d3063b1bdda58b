import fs from 'node:fs'
import path from 'node:path'
import { answerOf, differs, memoryFolder, simulate } from './verb.js'

/** @import { Case } from './cases.js' */

/** What `answer` in run.json may be: of what kind the capacity is, if the verb looks for one. */
const ANSWERS = [undefined, null, 'interval', 'at-least', 'none']

/**
 * What every verb that measures has to do: run to its end and find the truth; go on where it was cut off, to the same
 * answer; and repeat what was invalid.
 * @param {any} t
 * @param {Case} given
 */
export async function checkCase(t, { verb, argv, serve, lab = {}, pictures, holds }) {
  const [whole, cut, marred] = ['whole', 'cut', 'marred'].map((part) => path.join(memoryFolder(t), part))
  const uncut = await simulate(verb, [...argv, '--out', whole], serve, { lab })
  const { records } = uncut

  await t.test('runs to its end, and finds what is true', async (/** @type {any} */ t) => {
    t.equal(uncut.code, 0, uncut.end)
    holds(t, uncut)
    t.ok(ANSWERS.includes(uncut.run.answer), `answer: ${uncut.run.answer}`)
    for (const file of ['report.md', 'run.json', 'trials.ndjson']) t.ok(fs.existsSync(path.join(whole, file)), file)
    t.strictSame(uncut.log.pictures, pictures)
    t.ok(uncut.log.sentence.length > 20, uncut.log.sentence)
    t.notOk(/NaN|undefined|Infinity/.test(uncut.log.sentence + uncut.stdout), 'no figure that is none')
    t.strictSame(uncut.log, { ...uncut.log, open: 0, sites: 0 }, 'nothing is left open')
    t.strictSame(
      records.map(({ trial }) => trial),
      records.map((_, i) => i + 1),
    )
  })

  await t.test(
    'cut off again and again, it goes on with what comes next, to the same answer',
    async (/** @type {any} */ t) => {
      let before = 0
      for (const [i, at] of cutsOf(records.length).entries()) {
        const again = i === 0 ? [...argv, '--out', cut] : ['--resume', cut]
        const found = await simulate(verb, again, serve, { lab, interruptAfter: at - before })
        t.equal(found.code, 130, `cut off after ${at}`)
        t.match(found.end, /^interrupted; go on with: npm run \S+ -- --resume \S+cut$/)
        t.equal(differs(found.records, records.slice(0, at)), null)
        t.equal(found.run.interrupted, true)
        t.ok(fs.existsSync(path.join(cut, 'report.md')))
        t.strictSame(found.log, { ...found.log, open: 0, sites: 0 })
        before = at
      }
      const last = await simulate(verb, ['--resume', cut], serve, { lab })
      t.equal(last.code, 0, last.end)
      t.equal(differs(last.records, records), null)
      t.strictSame(answerOf(last.run), answerOf(uncut.run))
      t.ok(last.stdout.replaceAll(cut, '') === uncut.stdout.replaceAll(whole, ''), 'the same text')
    },
  )

  await t.test('an invalid trial is repeated, and says nothing', async (/** @type {any} */ t) => {
    const bad = badOf(records)
    const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => {
      return started === bad ? { errors: { 'client:ports': 1 } } : undefined
    }
    const found = await simulate(verb, [...argv, '--out', marred], serve, { lab: { ...lab, onTrial } })
    t.equal(found.code, 0, found.end)
    const [first, second] = found.records.slice(bad - 1)
    t.strictSame([first.outcome.verdict, first.outcome.blame], ['invalid', 'generator'])
    t.not(second.outcome.verdict, 'invalid')
    for (const name of ['experiment', 'at', 'cell', 'load']) t.strictSame(second[name], first[name], name)
  })
}

/** The trial that is spoilt: the first from the middle on that counts only if it is valid. @param {any[]} records */
function badOf(records) {
  const middle = Math.ceil(records.length / 2)
  // A load without bounds is the article's, which may break its own generator.
  const found = records.find(({ trial, load }) => trial >= middle && load.unbounded !== true)
  return found?.trial ?? middle
}

/** After how many trials a run is cut off: of a long one, a sample. @param {number} trials */
function cutsOf(trials) {
  if (trials <= 10) return Array.from({ length: trials }, (_, i) => i)
  return [0, 1, Math.round(trials / 3), Math.round((2 * trials) / 3), trials - 1]
}
