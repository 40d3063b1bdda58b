import { setImmediate as turn } from 'node:timers/promises'
import { numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { answer, list, table } from '../../../load/report/blocks.js'
import { count, NONE, tenthPercent } from '../../../load/report/format.js'
import { columnsOf } from '../../stats/tables.js'
import { CURVES } from './curves.js'
import { simulate as searchesOf, summarize } from './runs.js'

/**
 * @import { Measurement } from '../../../load/run/experiment.js'
 * @import { Column } from '../../stats/tables.js'
 */

const DEFAULTS = { runs: 1000, seed: 1 }
const QUICK_RUNS = 100

/** Searches between two checks for Ctrl-C: they take well below a second. */
const AT_ONCE = 20

/** How good is the search for the capacity? @type {Measurement} */
export const simulate = {
  name: 'simulate',
  about: 'how often does the search find the true capacity?',
  details: 'Searches synthetic services whose capacity is known, and counts how often the interval holds it.',
  flags: {
    runs: numberFlag(`searches of each kind of service (default ${DEFAULTS.runs})`, 1, 1_000_000),
    quick: switchFlag(`${QUICK_RUNS} searches of each: a few seconds`),
    seed: seedFlag(`seed of the simulation; the same seed gives the same table (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run simulate                  under a minute
  npm run simulate -- --runs 5000`,
  plan: ({ quick, ...given }) => ({ ...DEFAULTS, ...(quick && { runs: QUICK_RUNS }), ...given }),
  async *measure({ runs, seed }, { signal, progress }) {
    const services = Object.keys(CURVES)
    for (const [i, service] of services.entries()) {
      progress.note(`${i + 1} of ${services.length}: ${service}`)
      const found = []
      for (let done = 0; done < runs; done += AT_ONCE) {
        found.push(...searchesOf(service, { runs: Math.min(AT_ONCE, runs - done), seed: seed + done }))
        await turn()
        signal.throwIfAborted()
      }
      yield { service, ...summarize(found) }
    }
  },
  analyse: (plan, rows) => ({ problem: null, plan, rows }),
  report({ plan: { runs, seed }, rows }) {
    const inside = rows.map((/** @type {Summary} */ row) => row.inside).filter(Number.isFinite)
    const [least, most] = [Math.min, Math.max].map((of) => tenthPercent(of(...inside)))
    const services = Object.entries(CURVES).map(([name, { about }]) => `${name}: ${about}`)
    return [
      answer(`The interval holds the capacity in ${least} to ${most} of the searches, depending on the service.`),
      table(...columnsOf(rows, COLUMNS), { name: 'services' }),
      list([...services, ...NOTES, `${count(runs)} searches each, seed ${seed}`]),
    ]
  },
}

const NOTES = [
  'inside: the capacity lies in the interval; ± 5 %: or at most that far outside; stated: mean confidence',
  'bias, p5–p95: middle of the interval / capacity; where there is only a lower bound, that / what the generator can do',
  'trials, p95: until the search ends; time: mean, with 1.2 s in addition to each trial',
]

/** @typedef {{ service: string } & ReturnType<typeof summarize>} Summary */

/** @type {Column<Summary>[]} */
const COLUMNS = [
  ['service', ({ service }) => service],
  ['inside', ({ inside }) => tenthPercent(inside)],
  ['± 5 %', ({ near }) => tenthPercent(near)],
  ['stated', ({ confidence }) => tenthPercent(confidence)],
  ['bias', ({ bias }) => `${bias >= 0 ? '+' : ''}${tenthPercent(bias)}`],
  ['p5–p95', ({ p5, p95, unanswered }) => (unanswered < 1 ? `${p5.toFixed(2)}–${p95.toFixed(2)}` : NONE)],
  ['trials', ({ trials }) => String(trials)],
  ['p95', ({ trials_p95 }) => String(trials_p95)],
  ['time', ({ time_s }) => `${Math.round(time_s)} s`],
  ['no answer', ({ unanswered }) => tenthPercent(unanswered)],
]
