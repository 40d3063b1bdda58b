import t from 'tap'
import { terminalOf } from '../../../../../load/report/terminal.js'
import { besideBlocks } from '../../../../../tuning/pages/report/beside.js'
import { besideSpeeds, otherDifferences } from '../../../../../tuning/pages/report/conditions.js'
import { besideEachOther } from '../../../../../tuning/pages/report/figures.js'

/**
 * A sweep that was read, with the answer that its report gives.
 * @param {string} name @param {object} found by its analysis @param {object} [run] what differs in run.json @returns {any}
 */
function sweepOf(name, found, run = {}) {
  const own = { verb: 'sweep', run_id: name, plan: { mix: {} }, versions: {}, slo: {}, capacity: null, limit: null }
  const experiment = { design: null, analyse: () => ({ problem: null, capacity: null, limit: null, ...found }) }
  const machine = { cpu_model: 'EPYC', cores: 2, memory_bytes: 2 ** 33, kernel: 'Linux 6' }
  return {
    name,
    folder: name,
    experiment,
    run: { ...own, machine, started_at: '2026-11-28T10:00Z', finished_at: '2026-11-28T10:01Z', ...run },
    records: [],
  }
}

/** @param {number | null} low_rps @param {number | null} high_rps */
const capacityOf = (low_rps, high_rps) => ({ capacity: { low_rps, high_rps } })

/** @param {any[]} sources */
const textOf = (...sources) => terminalOf(besideBlocks(sources, besideEachOther(sources), null)).replace(/\s+/g, ' ')

/** @type {[title: string, sources: any[], text: RegExp][]} */
const SENTENCES = [
  [
    'two capacities are compared as a multiple',
    [sweepOf('A', capacityOf(100, 110)), sweepOf('B', capacityOf(220, 231))],
    /^B's capacity is 2\.00 to 2\.31 times A's\./,
  ],
  [
    'a capacity without an upper end is at least a multiple',
    [sweepOf('A', capacityOf(100, 110)), sweepOf('B', capacityOf(220, null))],
    /^B's capacity is at least 2\.00 times A's\./,
  ],
  [
    'a capacity without a lower end is at most a multiple',
    [sweepOf('A', capacityOf(100, 110)), sweepOf('B', capacityOf(null, 50))],
    /^B's capacity is at most 0\.50 times A's\./,
  ],
  [
    'capacities whose intervals overlap are tied',
    [sweepOf('A', capacityOf(100, 110)), sweepOf('B', capacityOf(105, 120))],
    /^The capacities of B and A are tied: their intervals overlap\./,
  ],
  [
    'a side without a trustworthy answer is not compared by its capacity, and is named',
    [sweepOf('A', { problem: 'noise' }), sweepOf('B', capacityOf(105, 120))],
    /^The capacities of B and A are not compared: A has no trustworthy answer\. B compared with A, in 0 figures/,
  ],
  [
    'nor are two',
    [sweepOf('A', { problem: 'noise' }), sweepOf('B', {})],
    /^The capacities of B and A are not compared: A and B have no trustworthy answer\./,
  ],
]

for (const [title, sources, text] of SENTENCES) {
  t.test(`side by side: ${title}`, async (t) => {
    t.match(textOf(...sources), text)
  })
}

t.test('side by side: the capacities are those of the reports, even if older versions kept others', async (t) => {
  const kept = { capacity: { low_rps: 1, high_rps: 2 } }
  const text = textOf(sweepOf('A', capacityOf(100, 110), kept), sweepOf('B', capacityOf(220, 231), kept))
  t.match(text, /B's capacity is 2\.00 to 2\.31 times A's/)
  t.match(text, /A: A in `A`, 0 trials; capacity 100 to 110\/s/)
  const broken = sweepOf('A', capacityOf(100, 110), { problem: 'the run broke off' })
  t.match(textOf(broken, broken), /no trustworthy answer: the run broke off/)
})

t.test('side by side: cores at different speeds are named, since the capacity follows them', async (t) => {
  const timed = (/** @type {string} */ name, /** @type {number} */ work_ms) => {
    const common = {
      at: { phase: 'search' },
      cell: null,
      settings: {},
      load: { driver: 'paced' },
      traffic: {},
      probes: { api: {} },
    }
    const search = [1, 2, 3].map((trial) => ({ ...common, trial, work_ms, outcome: { verdict: 'invalid' } }))
    return { ...sweepOf(name, capacityOf(100, 110)), records: search }
  }
  const saidOf = (/** @type {any[]} */ ...sources) => besideSpeeds(sources)
  t.equal(
    saidOf(timed('A', 4), timed('B', 6.8)),
    'The cores were not equally fast: before the trials, the same piece of work usually took 4.0 ms in A and 6.8 ms in B.',
  )
  t.equal(saidOf(timed('A', 4), timed('B', 4.3)), null, 'about as fast')
  t.equal(saidOf(timed('A', 4), sweepOf('B', {})), null, 'one was not timed')
  t.match(textOf(timed('A', 4), timed('B', 6.8)), /are tied: .* The cores were not equally fast: /)
  t.notMatch(textOf(timed('A', 4), timed('B', 4.3)), 'not equally fast')
})

t.test('side by side: a setting differs only where no cell and no relaxed limit changed it', async (t) => {
  const trial = (/** @type {number} */ POOL_MAX, /** @type {any} */ cell = null, at = {}) => ({
    ...{ at, cell, settings: { POOL_MAX, PORT: 3000 } },
  })
  const differing = (/** @type {any[]} */ ...all) => {
    const sources = all.map((records, i) => ({ ...sweepOf('AB'[i], {}), records }))
    return otherDifferences(sources).filter(([name]) => name === 'POOL_MAX')
  }
  t.strictSame(differing([trial(20), trial(80, { POOL_MAX: 80 })], [trial(20)]), [])
  t.strictSame(differing([trial(20), trial(80, null, { relaxed: true })], [trial(20)]), [])
  t.strictSame(differing([trial(20)], [trial(40)]), [['POOL_MAX', '20', '40']])
  t.strictSame(differing([trial(20, { side: 'a' })], [trial(40, { side: 'a' })]), [['POOL_MAX', '20', '40']])
})
