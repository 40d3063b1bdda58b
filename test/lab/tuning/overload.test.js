import t from 'tap'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

// To its end it takes half a minute, since its half loads have a length of their own.
t.test('overload: the peak, and what an interruption leaves', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--duration', '1s', '--connections', '500']
  const { run, trials } = await smoke(t, 'overload', flags, { databaseUrl: url, isCutAgain: true })
  t.strictSame(
    trials.map(({ at, load }) => [at, load.loop]),
    [
      [{ phase: 'peak' }, 'closed'],
      [{ phase: 'load', share: 0.5, block: 0, position: 1 }, 'open'],
    ],
  )
  t.equal(trials[1].load.rate_rps, Math.round(0.5 * trials[0].traffic.goodput_rps))
  t.match(run, { problem: null })
})
