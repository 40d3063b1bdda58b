import t from 'tap'
import { isSameSignal } from '../../../api/signals.js'
import { createSignals } from '../../../sql/signals.js'

/** Signals with their times, and what is handled: a signal that npm passes on comes within milliseconds. @type {[about: string, signals: [string, number][], handled: string[]][]} */
const CASES = [
  ['one', [['SIGINT', 0]], ['first SIGINT']],
  [
    'the same, passed on',
    [
      ['SIGINT', 0],
      ['SIGINT', 3],
    ],
    ['first SIGINT'],
  ],
  [
    'the same, by somebody who does not want to wait',
    [
      ['SIGINT', 0],
      ['SIGINT', 3],
      ['SIGINT', 101],
    ],
    ['first SIGINT', 'second SIGINT'],
  ],
  [
    'another one',
    [
      ['SIGINT', 0],
      ['SIGTERM', 1],
    ],
    ['first SIGINT', 'second SIGTERM'],
  ],
]

for (const [about, signals, expected] of CASES) {
  t.test(`signals: ${about}`, async (t) => {
    /** @type {string[]} */
    const handled = []
    const handle = createSignals({
      first: (name) => handled.push(`first ${name}`),
      second: (name) => handled.push(`second ${name}`),
    })
    for (const [name, at_ms] of signals) handle(name, at_ms)
    t.strictSame(handled, expected)
    const [[name, at_ms], ...later] = signals
    const others = later.filter(([signal, now_ms]) => !isSameSignal({ signal: name, at_ms }, signal, now_ms))
    t.equal(others.length, expected.length - 1, 'of the API, too')
  })
}
