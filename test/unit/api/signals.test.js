import t from 'tap'
import { isSameSignal } from '../../../api/signals.js'
import { abortOnSignals, createSignals } from '../../../sql/signals.js'

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

t.test('any number of hosts and programs may wait for the end of a run, and Node warns of no leak', async (t) => {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const before = names.map((name) => process.listeners(/** @type {any} */ (name)))
  /** @type {Error[]} */
  const warnings = []
  const hear = (/** @type {Error} */ warning) => warnings.push(warning)
  process.on('warning', hear)
  const signal = abortOnSignals(130)
  for (let i = 0; i < 20; i++) signal.addEventListener('abort', () => i)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', hear)
  t.strictSame(warnings, [])
  for (const [i, name] of names.entries()) {
    const added = process.listeners(/** @type {any} */ (name)).filter((one) => !before[i].includes(one))
    t.equal(added.length, 1, name)
    for (const listener of added) process.off(name, listener)
  }
})
