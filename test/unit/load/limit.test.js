import fs from 'node:fs'
import t from 'tap'
import { limitOf, limitOfRun } from '../../../load/limit.js'
import { FAULTS } from '../../../tuning/faults/index.js'
import { plantedTrial } from '../../../tuning/faults/table.js'

const SLO = { p99_ms: 100, success_ratio: 1 }

/** Records of real faults, kept from a run of `npm run faults`. */
const KEPT = new URL('../../../tuning/evidence/faults/trials.ndjson', import.meta.url)
const kept = fs
  .readFileSync(KEPT, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))

/** @param {string} cell */
function recordOf(cell) {
  return structuredClone(kept.findLast((record) => record.cell === cell))
}

t.test('a real fault is named from its record', async (t) => {
  for (const { name, resource } of FAULTS) {
    const blocks = [...new Set(kept.map(({ experiment }) => experiment))]
    t.ok(blocks.length >= 3, 'from three runs in a row')
    for (const block of blocks) {
      const record = plantedTrial(
        kept.filter(({ cell, experiment }) => cell?.split(' ')[0] === name && experiment === block),
      )
      if (!record) return t.fail(`${name} was kept`)
      const { evidence, ...limit } = limitOf(record, SLO)
      t.equal(limit.resource, resource, `${name}: ${evidence.join('; ')}`)
      t.ok(
        evidence.length > 0 && evidence.every((text) => text.length > 0 && !/NaN|undefined/.test(text)),
        'with evidence',
      )
      t.not(limit.runner_up, resource)
    }
  }
})

t.test('of two that are at their limit, the one that explains the other is named', async (t) => {
  const fullPool = recordOf('pool-of-one')
  Object.assign(fullPool.probes.postgres, { active_mean: 0.95, waits: { 'Lock:relation': 0.9, CPU: 0.1 } })
  t.match(
    limitOf(fullPool, SLO),
    { resource: 'postgres-lock', runner_up: 'pool-size' },
    'a pool whose connections wait for a lock',
  )

  const computing = recordOf('expensive-trigger')
  const [core] = computing.probes.postgres.cores
  Object.assign(computing.probes.kernel.cores[core], { busy_ratio: 0.93, interrupts_ratio: 0.01 })
  Object.assign(computing.probes.postgres, { cpu_core_ratio: 0.8, active_mean: 0.97, waits: { CPU: 0.98 } })
  t.match(
    limitOf(computing, SLO),
    { resource: 'postgres-cpu', runner_up: 'generator-connections' },
    'the one statement that there is room for computes all the time, on a core that the lab takes some of',
  )
  Object.assign(computing.probes.postgres, { cpu_core_ratio: 0.4 })
  t.not(limitOf(computing, SLO).resource, 'postgres-cpu', 'it wants to compute, and somebody else keeps it from it')

  Object.assign(computing.probes.postgres, { cpu_core_ratio: 0.8, waits: {} })
  computing.probes.api.in_flight_mean = 55
  t.match(limitOf(computing, SLO), { resource: 'postgres-cpu' }, 'of what is nearly at its limit, too')

  const { kernel } = computing.probes
  const idle = { cores: { [core]: { busy_ratio: 0.1, interrupts_ratio: 0, steal_ratio: 0 } } }
  Object.assign(computing.probes, { kernel: idle, here: kernel })
  t.match(limitOf(computing, SLO), { resource: 'postgres-cpu' }, 'on the cores of the machine on which it is seen')

  const fullLoop = recordOf('spinning-handler')
  Object.assign(fullLoop.probes.kernel, { listen_overflows: 500, listen_drops: 500 })
  t.match(
    limitOf(fullLoop, SLO),
    { resource: 'api-cpu', runner_up: 'accept-queue' },
    'a full core does not get to accept',
  )

  const idleLoop = recordOf('short-backlog')
  Object.assign(idleLoop.probes.api, { elu_ratio: 0.05, main_core_ratio: 0.05, cpu_core_ratio: 0.06 })
  t.match(
    limitOf(idleLoop, SLO),
    { resource: 'accept-queue' },
    'an idle loop with a full accept queue is no idle service',
  )

  const impatient = recordOf('impatient-pool')
  impatient.probes.api.pool_used_mean = Number(impatient.settings.POOL_MAX)
  t.match(
    limitOf(impatient, SLO),
    { resource: 'pool-size', runner_up: 'pool-timeout' },
    'a short timeout on a pool that is full',
  )

  const collecting = recordOf('small-heap')
  collecting.probes.api.cpu_core_ratio = 1
  t.match(limitOf(collecting, SLO), { resource: 'api-gc' }, 'a core that is full of garbage collection')

  const commits = recordOf('slow-commits')
  commits.probes.api.pool_used_mean = 20
  t.match(
    limitOf(commits, SLO),
    { resource: 'postgres-commit', runner_up: 'pool-size' },
    'connections that all wait for their commits',
  )
})

t.test('who could excuse a failure, and did not, is not accused', async (t) => {
  const noisy = recordOf('limiter')
  noisy.probes.kernel.cores[noisy.target.cores].busy_ratio = 1
  noisy.probes.generator.lateness_ms.p99 = 50
  t.match(limitOf(noisy, SLO), { resource: 'rate-limit' }, '429 is an answer of its own')
})

t.test('without a limit none is named', async (t) => {
  const fine = recordOf('none')
  t.match(limitOf(fine, SLO), { resource: 'none-reached', confirmed: null })
  const busy = recordOf('none')
  busy.probes.api.cpu_core_ratio = 0.8
  busy.probes.api.main_core_ratio = 0.8
  busy.probes.kernel.cores[busy.target.cores].busy_ratio = 0.8
  t.match(limitOf(busy, SLO), { resource: 'none-reached', runner_up: 'api-cpu' }, 'but what was nearest')
  fine.outcome.verdict = 'fail'
  t.match(
    limitOf(fine, SLO),
    { resource: 'none-reached', evidence: [/nothing that was looked at/] },
    'not even where it failed',
  )
})

t.test('of a service behind a URL only what is seen from outside is claimed', async (t) => {
  for (const name of ['limiter', 'spinning-handler', 'generator-few-files', 'pool-of-one']) {
    const record = recordOf(name)
    const { generator } = record.probes
    Object.assign(record, { settings: {}, probes: { api: {}, postgres: {}, generator, kernel: {} } })
    record.target = { kind: 'url', url: 'http://127.0.0.1/', pid: null, cores: null }
    const { resource } = limitOf(record, SLO)
    const expected = { limiter: 'rate-limit', 'generator-few-files': 'generator-nofile' }[name] ?? 'none-reached'
    t.equal(resource, expected, name)
  }
})

t.test('without a process to look at, the event loop tells what JavaScript uses', async (t) => {
  const record = recordOf('asynchronous-scrypt')
  delete record.probes.api.main_core_ratio
  Object.assign(record.target, { kind: 'url', pid: null, cores: null })
  t.match(limitOf(record, SLO), { resource: 'api-threadpool' })
})

t.test('the limit of a run is that of most trials just beyond the capacity', async (t) => {
  const trial = (
    /** @type {number} */ rate_rps,
    /** @type {string} */ verdict,
    /** @type {string} */ resource,
    /** @type {string | null} */ runner_up = null,
  ) => {
    const limit = {
      resource,
      runner_up,
      evidence: [`at ${rate_rps}`],
      runner_up_evidence: [`beside ${rate_rps}`],
      confirmed: null,
    }
    return /** @type {any} */ ({ load: { loop: 'open', rate_rps }, outcome: { verdict }, limit })
  }
  t.equal(limitOfRun([]), null)
  t.match(limitOfRun([trial(1, 'pass', 'none-reached', 'api-cpu')]), { resource: 'none-reached', runner_up: 'api-cpu' })
  const records = [
    trial(900, 'fail', 'network'),
    trial(300, 'fail', 'none-reached'),
    trial(310, 'fail', 'api-cpu', 'pool-size'),
    trial(320, 'fail', 'api-cpu', 'pool-size'),
    trial(200, 'pass', 'none-reached', 'network'),
    ...[1, 2, 3, 4].map(() => trial(250, 'invalid', 'machine-noise')),
  ]
  t.match(limitOfRun(records), {
    resource: 'api-cpu',
    runner_up: 'pool-size',
    evidence: ['at 310'],
    runner_up_evidence: ['beside 310'],
  })
  const invalid = records.filter(({ outcome }) => outcome.verdict !== 'fail')
  t.match(
    limitOfRun([...records, ...[1, 2, 3].map(() => trial(305, 'fail', 'network'))], 305),
    { resource: 'api-cpu' },
    'stray ones',
  )
  t.match(limitOfRun(invalid), { resource: 'machine-noise' }, 'where no trial failed, what made them invalid')
})
