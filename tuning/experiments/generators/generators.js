import { blocksFlag, durationFlag, numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { startGenerator } from '../../../load/generators/drive.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { createUserMix } from '../../../load/generators/mix.js'
import { watchProcess } from '../../../load/probes/process.js'
import { answer, paragraph, table } from '../../../load/report/blocks.js'
import { count, NONE } from '../../../load/report/format.js'
import { pinToCores } from '../../../load/system/processes.js'
import { startNullServer } from '../../../load/verdict/preflight/ceiling.js'
import { median } from '../../../load/verdict/ranks.js'
import { spread } from '../../stats/tables.js'

/** @import { Measurement } from '../../../load/run/experiment.js' */

const DEFAULTS = { rate: 10_000, duration: 10_000, blocks: 3, seed: 1 }
const QUICK = { duration: 4000, blocks: 1 }
const WARMUP_S = 2
const CONNECTIONS = 64
const TIMEOUT_S = 10
const REFERENCE = 'wrk'

/**
 * Measures how much an open-loop generator costs, and how late it is. Each in turn offers the same rate to a server that does nothing
 * and has a core of its own. wrk, a closed loop written in C, runs flat out for reference: it shows how little a generator can cost.
 * @type {Measurement}
 */
export const generators = {
  name: 'generators',
  script: 'bench:generators',
  about: 'what does a generator cost, and how late is it?',
  flags: {
    rate: numberFlag(`requests per second (default ${DEFAULTS.rate})`, 1, 100_000),
    duration: durationFlag(`duration of each measurement (default ${DEFAULTS.duration / 1000}s)`),
    blocks: blocksFlag('generator is measured', DEFAULTS.blocks),
    quick: switchFlag('one block of short measurements: under a minute'),
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
  },
  examples: '  npm run bench:generators          up to two minutes\n  npm run bench:generators -- --blocks 5',
  plan(given) {
    const all = { ...DEFAULTS, ...(given.quick && QUICK), ...given }
    const { rate: rate_rps, duration: duration_ms, blocks, seed } = all
    return { rate_rps, duration_s: duration_ms / 1000, blocks, connections: CONNECTIONS, seed }
  },
  async *measure(plan, { signal, progress }) {
    const drivers = openDrivers(progress.note)
    const server = await startNullServer(pinToCores()?.api ?? null)
    try {
      for (let block = 1; block <= plan.blocks; block++) {
        for (const driver of drivers) {
          progress.note(`block ${block} of ${plan.blocks}: ${driver}`)
          yield { driver, block, ...(await offer(plan, driver, server.url, signal)) }
        }
      }
    } finally {
      await server.stop()
    }
  },
  analyse: (plan, rows) => ({ problem: null, plan, costs: costsOf(rows) }),
  report: ({ plan: { rate_rps, duration_s, blocks, connections }, costs }) => [
    answer(
      `CPU per request, relative to paced: ${costs.map((/** @type {string[]} */ [driver, , , , ratio]) => `${driver} ${ratio}`).join(', ')}.`,
    ),
    paragraph(
      `${count(rate_rps)}/s for ${duration_s} s over ${connections} connections, ${blocks} interleaved blocks: median [least–most]; ${REFERENCE} as fast as it goes`,
    ),
    table(HEAD, costs, { name: 'generators' }),
  ],
}

/** The open-loop drivers that run here, and wrk. @param {(text: string) => void} note */
function openDrivers(note) {
  const compared = Object.values(DRIVERS).filter(({ name, loop }) => loop === 'open' || name === REFERENCE)
  return compared.flatMap(({ name, check }) => {
    try {
      check?.({ url: 'http://127.0.0.1', method: 'POST' })
      return [name]
    } catch (error) {
      note(`left out: ${/** @type {Error} */ (error).message}`)
      return []
    }
  })
}

/**
 * Returns late_ms and cpu_us as null if they are not known.
 * @param {Record<'rate_rps' | 'duration_s' | 'connections' | 'seed', number>} plan
 * @param {string} driver @param {string} url @param {AbortSignal} signal
 */
async function offer({ rate_rps, duration_s, connections, seed }, driver, url, signal) {
  const rate = driver === REFERENCE ? null : rate_rps
  const load = { driver, url, mix: createUserMix(seed), trial: 1, rate_rps: rate, connections, timeout_s: TIMEOUT_S }
  const generator = await startGenerator(load, signal, () => {})
  try {
    await generator.run(WARMUP_S)
    const use = watchProcess(generator.pid)
    let cpu_s = /** @type {number | undefined} */ (undefined)
    const onEnd = () => {
      cpu_s = use()?.cpu_s
    }
    const { lateness_ms, achieved_rps, sent } = await generator.run(duration_s, onEnd)
    return {
      late_ms: lateness_ms?.p99 ?? null,
      achieved_rps,
      cpu_us: cpu_s === undefined ? null : (cpu_s * 1e6) / sent,
    }
  } finally {
    await generator.close()
  }
}

const HEAD = ['generator', 'achieved/s', 'late at p99, ms', 'CPU per request, us', 'ratio']

/** A row per generator, with its CPU time relative to that of paced. @param {({ driver: string } & Awaited<ReturnType<typeof offer>>)[]} rows */
function costsOf(rows) {
  const known = (/** @type {string} */ driver, /** @type {'achieved_rps' | 'late_ms' | 'cpu_us'} */ name) => {
    return rows.filter((row) => row.driver === driver).flatMap((row) => row[name] ?? [])
  }
  return [...new Set(rows.map(({ driver }) => driver))].map((driver) => {
    const [cpu_us, reference_us] = [driver, 'paced'].map((name) => known(name, 'cpu_us'))
    const ratio = median(cpu_us) / median(reference_us)
    return [
      driver,
      spread(known(driver, 'achieved_rps'), 0),
      spread(known(driver, 'late_ms'), 2),
      spread(cpu_us, 1),
      Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE,
    ]
  })
}
