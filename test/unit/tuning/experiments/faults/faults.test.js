import t from 'tap'
import { PROOF_S } from '../../../../../load/capacity/proving.js'
import { DETECTORS } from '../../../../../load/verdict/detectors/index.js'
import { faults } from '../../../../../tuning/experiments/faults/faults.js'
import { analyse, plantedTrial, report } from '../../../../../tuning/experiments/faults/findings.js'
import { FAULTS } from '../../../../../tuning/experiments/faults/index.js'

t.test('each resource that the diagnosis can name has one planted fault', async (t) => {
  const planted = Object.values(FAULTS).flatMap(({ resource, hard }) => (hard ? [] : resource))
  t.strictSame(planted.sort(), [...Object.keys(DETECTORS), 'none-reached'].sort())
})

/** @param {Record<string, any>} cell @param {string} resource that was named @returns {any} */
function record(cell, resource, verdict = 'fail') {
  const limit = { resource, runner_up: null, evidence: ['why'], runner_up_evidence: [], confirmed: null }
  return { at: { block: 0 }, cell, limit, outcome: { verdict }, traffic: { goodput_rps: 1 } }
}

const RECORDS = [
  record({ fault: 'pool-of-one' }, 'pool-size'),
  record({ fault: 'pool-of-one', POOL_MAX: 4 }, 'none-reached', 'pass'),
  record({ fault: 'limiter' }, 'network'),
]

/** @param {string[]} faults */
const planOf = (faults, repeats = 1) => ({ repeats, faults, skipped: null })

t.test('findings say what was planted, what was named, and whether relaxing it helped', async (t) => {
  const findings = analyse(planOf(['pool-of-one', 'limiter']), RECORDS)
  t.match(findings, { problem: 'limiter: expected rate-limit, got network', tried: 2, right: 1 })
  t.strictSame(
    findings.found.map(({ fault, cases: [{ isRight, notch, helped }] }) => ({ fault, isRight, notch, helped })),
    [
      { fault: 'pool-of-one', isRight: true, notch: { POOL_MAX: 4 }, helped: true },
      { fault: 'limiter', isRight: false, notch: null, helped: false },
    ],
  )
  t.strictSame(report(findings).find((block) => block.kind === 'table')?.rows, [
    ['pool-of-one', 'pool-size', 'pool-size', '–', 'yes: POOL_MAX=4', '1 of 1'],
    ['limiter', 'rate-limit', 'network', '–', '–', '0 of 1'],
  ])
  t.equal(analyse(planOf(['pool-of-one']), RECORDS.slice(0, 2)).problem, null)
  t.equal(analyse(planOf(['pool-of-one'], 2), RECORDS.slice(0, 2)).problem, '1 of 2 faults were tried')
})

t.test('run.json keeps which limits were named rightly, and which wrongly', async (t) => {
  t.strictSame(analyse(planOf(['pool-of-one', 'limiter']), RECORDS).kept, {
    tried: 2,
    right: 1,
    named: [
      { fault: 'pool-of-one', planted: 'pool-size', named: 'pool-size', is_right: true },
      { fault: 'limiter', planted: 'rate-limit', named: 'network', is_right: false },
    ],
    skipped: null,
  })
})

t.test('a limit that cannot be relaxed is not asked for again', async (t) => {
  const plan = faults.plan({ inside: true, only: ['asynchronous-scrypt'] }, {})
  const planted = {
    ...record({ fault: 'asynchronous-scrypt' }, 'api-threadpool'),
    settings: {},
    probes: { kernel: {} },
  }
  const cell = { fault: 'asynchronous-scrypt', CORES: 'all' }
  t.strictSame(faults.design(plan, [planted], [])?.cell, cell)
  t.equal(faults.design(plan, [planted], [{ cell, because: 'one core' }]), null)
})

t.test('the time that is left includes the proofs that are still to come', async (t) => {
  const given = { inside: true, only: ['pool-of-one', 'limiter', 'held-lock'] }
  const [left_s, proven_s] = [{}, { proof: true }].map((flags) => {
    return Number(faults.design(faults.plan({ ...given, ...flags }, {}), [], [])?.left_s)
  })
  t.equal(proven_s - left_s, 2 * PROOF_S, 'a rate limit is not proven by doses')
})

t.test('an invalid trial is repeated, unless that is what was planted', async (t) => {
  const noisy = record({ fault: 'limiter' }, 'machine-noise', 'invalid')
  t.equal(plantedTrial([noisy]), undefined, 'what a neighbour spoiled is repeated')
  t.equal(plantedTrial([noisy, RECORDS[2]]), RECORDS[2])
  t.equal(plantedTrial([noisy, noisy, noisy]), noisy, 'three times at most')
  const crowd = record({ fault: 'noisy-neighbours' }, 'machine-noise', 'invalid')
  t.equal(plantedTrial([crowd]), crowd, 'unless the neighbour is what was planted')

  const few = record({ fault: 'few-connections' }, 'generator-connections', 'invalid')
  const spoiled = { ...few, outcome: { ...few.outcome, blame: 'noise' } }
  t.equal(plantedTrial([{ ...few, outcome: { ...few.outcome, blame: 'generator' } }])?.cell, few.cell)
  t.equal(plantedTrial([spoiled]), undefined, 'a neighbour spoils a fault of the generator, too')
})

t.test('hard faults are planted where a proof is made, and either of two that are alike is right', async (t) => {
  const hard = Object.keys(FAULTS).filter((name) => FAULTS[name].hard)
  t.equal(hard.length, 9)
  const planned = (/** @type {object} */ flags) => faults.plan({ inside: true, ...flags }, {}).faults
  t.strictSame(planned({ proof: true }), [...planned({}), ...hard].sort(byPlace))
  const rightOf = (/** @type {string} */ fault, /** @type {string} */ resource) => {
    return analyse(planOf([fault]), [record({ fault }, resource)]).right
  }
  t.equal(rightOf('service-like-postgres', 'api-cpu'), 1)
  t.equal(rightOf('service-like-postgres', 'postgres-cpu'), 1)
  t.equal(rightOf('service-like-postgres', 'lock-step'), 0)
  t.equal(rightOf('service-before-postgres', 'postgres-cpu'), 0)
})

/** @param {string} a @param {string} b */
function byPlace(a, b) {
  const names = Object.keys(FAULTS)
  return names.indexOf(a) - names.indexOf(b)
}
