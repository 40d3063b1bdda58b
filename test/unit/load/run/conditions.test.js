import t from 'tap'
import { conditionsOf, settingsText } from '../../../../load/run/conditions.js'

const RUN = /** @type {any} */ ({
  machine: { cpu_model: 'EPYC', cores: 2, memory_bytes: 2 ** 33, kernel: 'Linux 6' },
  versions: { node: 'v26.1.0', postgres: '18.4', redline_commit: 'abc', driver: 'paced (v26.1.0)' },
  started_at: '2026-11-26T01:02:03.000Z',
  finished_at: '2026-11-26T01:05:03.000Z',
})

t.test('the generators are those that sent the load, with the version of the one that was asked for', (t) => {
  const sent = (/** @type {string[]} */ ...drivers) =>
    /** @type {any[]} */ (drivers.map((driver) => ({ load: { driver } })))
  for (const [records, text] of /** @type {[any[], RegExp][]} */ ([
    [[], /, load generator: paced$/],
    [sent('paced', 'paced'), /, load generator: paced$/],
    [sent('client'), /, load generator: client$/],
    [sent('wrk', 'paced', 'wrk'), /, load generators: wrk, paced$/],
  ])) {
    t.match(conditionsOf(RUN, records)[1], text)
  }
  const of = (/** @type {string} */ driver) => ({ ...RUN, versions: { ...RUN.versions, driver } })
  t.match(conditionsOf(of('autocannon (9.0.0)'), sent('autocannon'))[1], /, load generator: autocannon \(9\.0\.0\)$/)
  const { driver, ...others } = RUN.versions
  t.match(conditionsOf({ ...RUN, versions: others }, [])[1], /Redline abc$/, `${driver} is not named`)
  t.end()
})

t.test('settings are those of the trials, without the pool that the proof enlarged', (t) => {
  const trial = (/** @type {number} */ POOL_MAX, at = {}) => /** @type {any} */ ({ at, settings: { POOL_MAX } })
  const text = settingsText([trial(20), trial(4), trial(80, { phase: 'proof', relaxed: true })])
  t.equal(text, 'Settings, as read back from the service: POOL_MAX=20 or 4.')
  t.equal(settingsText([]), false)
  t.end()
})

t.test('each other machine on which sides ran is listed once, with them', (t) => {
  const machine = (/** @type {string} */ name) => ({ name, ...RUN.machine, node: 'v26.1.0' })
  const lines = (/** @type {any} */ machines) => conditionsOf({ ...RUN, ...machines }, []).slice(0, 3)
  const text = 'EPYC, 2 cores, 8 GiB, Linux 6'
  const [one, two] = ['root@one', 'root@two'].map(machine)
  t.strictSame(lines({ target_machines: { a: one, b: two } }), [
    `root@one, on which A ran: ${text}, Node v26.1.0`,
    `root@two, on which B ran: ${text}, Node v26.1.0`,
    `The generator and the lab: ${text}`,
  ])
  t.strictSame(lines({ target_machines: { a: one, b: one } }).slice(0, 2), [
    `root@one, on which A and B ran: ${text}, Node v26.1.0`,
    `The generator and the lab: ${text}`,
  ])
  t.equal(lines({ target_machine: one })[0], `root@one, on which the API ran: ${text}, Node v26.1.0`)
  t.end()
})
