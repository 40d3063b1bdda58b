import { count, percent } from '../../../load/report/format.js'
import { figure, limitText } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, goodput, offered, rounded } from '../loads.js'

/**
 * @import { Exercise, Found } from '../exercise.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

const SERVICE = { INSERT_MODE: 'batched' }
const CLIENTS = 200

/** Too many connections are too many from the first moment on. */
const LOAD = { connections: CLIENTS, warmup_s: 0.5, duration_s: 2 }

/** Of what it takes: it has nothing to do. */
const SHARE = 0.1

/** @type {Exercise} */
export const files = {
  id: 'files',
  title: 'Files and sockets',
  minutes: 5,
  needs: 'Whose error is it? A closed connection without an answer has two ends.',
  lesson: 'A socket is a file. The limit that counts is the hard one, read back from the process that runs.',
  symptoms: [
    `A new host, the same build. ${CLIENTS} clients keep a connection each. Some are served as ever; the others are cut off without a word, try again, and are cut off again.`,
    'The core is idle. Postgres is idle. The log of the service has no error, and every answer that is given comes at once.',
  ],
  remark: ({ limits }) =>
    limits
      ? null
      : 'This system cannot give a process a limit of open files (no prlimit). The service gets the same limit by its own knob, MAX_CONNECTIONS; the symptoms are the same.',
  before: () => [closed('peak', SERVICE, 32, { duration_s: 2 })],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')) }),
  predict: {
    text: `It takes {peak}/s; a tenth of that is offered over ${CLIENTS} connections. What is at its limit?`,
    kind: choice({
      'api-cpu': 'the core of the service',
      'accept-queue': 'the queue of new connections',
      'pool-size': 'the connections of the pool',
      files: 'the sockets that the service may have open',
    }),
    hints: [
      'It is not about how much is asked: those who are connected are served at once.',
      'It is about how many. What has every connection in common with a file?',
    ],
    solution: () => 'd',
    wrong: () => 'b',
  },
  first: (found) => [offered('as it is', limited(found, 100), rateOf(found), LOAD)],
  rows: { peak: 'peak', 'as it is': 'as it is', yours: 'again' },
  columns: ['offered', 'goodput/s', 'success', 'no answer', 'p99', 'API core', 'open files'],
  notes: {
    of: 'as it is',
    lines: (trial) => {
      const errors = Object.entries(trial.traffic.errors).map(([key, number]) => `${count(number)} x ${key}`)
      return [`Without an answer: ${errors.join(', ') || 'none'}.`, limitText(trial)]
    },
  },
  compare: ({ trials, answers }) => {
    const { resource } = trials['as it is'].limit
    const happened = ['nofile', 'max-connections'].includes(resource) ? 'files' : resource
    return { right: answers.predict === happened, text: `At its limit: ${resource}.` }
  },
  turn: {
    text: 'So many files may the service have open: 100. What do you set it to (soft and hard)?',
    kind: number('files', 32, 1_000_000),
    hints: [
      `Who needs one? ${CLIENTS} clients, the pool, the listening sockets, logs, the event loop itself.`,
      'Some tens more than the clients; then think of the day with twice as many.',
    ],
    solution: () => '1024',
    wrong: () => '150',
  },
  again: (found) => [offered('again', limited(found, found.answers.turn), rateOf(found), LOAD)],
  outcome: ({ trials }) => {
    const { traffic, probes } = trials.again
    const open = probes.api.open_files ? `, ${count(probes.api.open_files)} files were open` : ''
    return { solved: traffic.success_ratio === 1, because: `${percent(traffic.success_ratio)} succeeded${open}` }
  },
  discussion: [
    'There are two limits. The soft one is a wish: Node, like Go, raises it to the hard one when it starts. So `ulimit -Sn` changes nothing, and a demonstration with the soft limit shows the opposite of what happens on a host.',
    'Where to set it: `LimitNOFILE=` of systemd, `ulimit -Hn` of the shell, `--ulimit` of a container. Where to look: `/proc/PID/limits` of the process that runs, not your own shell.',
    'Above the peak of open sockets the number changes nothing. Below, it looks like a network that is broken.',
  ],
}

/** @param {Found} found */
function rateOf(found) {
  return rounded(SHARE * goodput(found, 'peak'))
}

/** What the service keeps for itself, of its limit of files. */
const OWN_FILES = 40

/** @param {Found} found @param {number} most @returns {Cell} */
function limited({ facts }, most) {
  return { ...SERVICE, ...(facts.limits ? { NOFILE: most } : { MAX_CONNECTIONS: Math.max(1, most - OWN_FILES) }) }
}
