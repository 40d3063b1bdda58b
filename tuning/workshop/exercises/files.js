import { count, percent } from '../../../load/report/format.js'
import { choice, number } from '../answers.js'
import { closed, limitText, offered, ofPeak } from '../kit.js'

/** @import { Found, Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'batched' }
const CLIENTS = 200

/** A short load is enough: the limit is exceeded from the first moment. */
const LOAD = { connections: CLIENTS, warmup_s: 0.5, duration_s: 2 }

/** Share of the peak: the service has almost nothing to do. */
const SHARE = 0.1

/** @type {Rules} */
export const files = {
  constants: { clients: CLIENTS },
  differs: ({ limits }) => !limits,
  before: () => closed('peak', SERVICE, 32, { duration_s: 2 }),
  predict: {
    kind: choice,
    solution: () => 'files',
    wrong: 'accept-queue',
    compare: ({ trials, answers }) => {
      const { resource } = trials['as it is'].limit
      const happened = ['nofile', 'max-connections'].includes(resource) ? 'files' : resource
      return { right: answers.predict === happened, text: `At its limit: ${resource}.` }
    },
  },
  first: (found) => [offered('as it is', limited(found, 100), ofPeak(found, SHARE), LOAD)],
  columns: ['offered', 'goodput/s', 'success', 'no answer', 'p99', 'API core', 'open files'],
  notes: {
    'as it is': (trial) => {
      const errors = Object.entries(trial.traffic.errors).map(([key, number]) => `${count(number)} x ${key}`)
      return [`Without a response: ${errors.join(', ') || 'none'}.`, limitText(trial)]
    },
  },
  turn: { kind: number('files', 32, 1_000_000), solution: () => '1024', wrong: '150' },
  again: (found) => [offered('again', limited(found, found.answers.turn), ofPeak(found, SHARE), LOAD)],
  outcome: ({ trials }) => {
    const { traffic, probes } = trials.again
    const open = probes.api.open_files ? `, ${count(probes.api.open_files)} files were open` : ''
    return { solved: traffic.success_ratio === 1, because: `${percent(traffic.success_ratio)} succeeded${open}` }
  },
}

/** @param {Found} found @param {number} most open files, or connections if a process cannot have such a limit, as the exercise says */
function limited({ facts }, most) {
  return { ...SERVICE, ...(facts.limits ? { NOFILE: most } : { MAX_CONNECTIONS: most }) }
}
