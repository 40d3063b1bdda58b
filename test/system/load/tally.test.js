import t from 'tap'
import { countClosedLoop } from '../../../load/generators/drivers/tally.js'
import { within } from '../../support/until.js'

/** @import { Answered } from '../../../load/generators/drivers/tally.js' */

/** A closed loop of 50 ms in which one request goes on until the end of the load was reported. @param {(answered: Answered) => void} late */
async function endsOf(late) {
  let ends = 0
  /** @type {() => void} */
  let report = () => {}
  const reported = new Promise((resolve) => {
    report = () => resolve(undefined)
  })
  const phase = {
    duration_s: 0.05,
    signal: new AbortController().signal,
    enough: new AbortController().signal,
    onCounts: () => {},
    onEnd: () => {
      ends++
      report()
    },
  }
  const { completed } = await countClosedLoop(/** @type {any} */ ({ mix: {} }), phase, async (_, answered) => {
    answered('', 201, 1)
    await within('the report of the end', reported)
    late(answered)
  })
  return { ends, completed }
}

t.test('a closed loop is over before its last request has timed out, unless that is answered after all', async (t) => {
  t.strictSame(await endsOf(() => {}), { ends: 1, completed: 1 })
  t.strictSame(await endsOf((answered) => answered('', 201, 1)), { ends: 2, completed: 2 })
})
