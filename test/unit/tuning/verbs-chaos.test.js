import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import * as VERBS from '../../../tuning/verbs.js'
import { casesOf } from '../../support/simulated/cases.js'
import { createService, randomOf } from '../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../support/simulated/verb.js'

/** @import { Serve } from '../../support/simulated/service.js' */

const { bench, compare, faults, overload, playbook, ramp, soak, tune } = VERBS

/** Of the trials, by seed. */
const INVALID = [0.2, 0.6, 1]

/** Of a run in which most trials are invalid: too few are left for an interval, however many there are. */
const FEW_BLOCKS = 3

/** Three tries of each place of a design, and as much again for what depends on what was found. */
const MOST_TRIALS = 320

/** Anything may be invalid, slow, fast or refused, whatever was before. @param {number} seed @returns {Serve} */
function chaos(seed) {
  return (step, { trial, ...others }) => {
    const random = randomOf(seed, trial)
    const capacity_rps = 10 ** (1 + 4 * random())
    const refusal = random() < 0.3 ? 503 : null
    const seen = createService({ capacity_rps, refusal })(step, { trial, ...others })
    return random() < INVALID[seed - 1] ? { ...seen, errors: { 'client:ports': 1 } } : seen
  }
}

for (const { name, verb, argv, lab } of casesOf([bench, compare, faults, overload, playbook, ramp, soak, tune])) {
  t.test(`${name.split(':')[0]} ends, whatever it meets`, async (t) => {
    for (let seed = 1; seed <= INVALID.length; seed++) {
      const random = randomOf(seed, 0)
      const onOpen = () => {
        if (random() < 0.05) throw new NotApplied('not here')
      }
      const onTrial = (/** @type {unknown} */ _, /** @type {number} */ started) => {
        if (started > 2 * MOST_TRIALS) throw new Error('the design goes on and on')
      }
      const folder = `${memoryFolder(t)}/run`
      const options = { lab: { ...lab, onOpen, onTrial } }
      const { code, end, records, log } = await simulate(
        verb,
        [...argvFor(argv, seed), '--out', folder],
        chaos(seed),
        options,
      )
      t.ok(
        code === 0 || (code === 1 && /^redline: no trustworthy answer: \S/.test(end)),
        `seed ${seed}: ${code}, ${end}`,
      )
      t.ok(records.length <= MOST_TRIALS, `seed ${seed}: ${records.length} trials`)
      t.strictSame([log.open, log.sites], [0, 0])
    }
  })
}

/** @param {string[]} argv @param {number} seed */
function argvFor(argv, seed) {
  const at = argv.indexOf('--blocks') + 1
  if (at === 0 || INVALID[seed - 1] < 0.5) return argv
  return argv.with(at, String(Math.min(FEW_BLOCKS, Number(argv[at]))))
}
