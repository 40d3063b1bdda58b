import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { durationFlag, wholeNumber } from '../../../load/command/flags.js'
import { startGenerator } from '../../../load/generators/drive.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { createUserMix } from '../../../load/generators/mix.js'
import { watchProcess } from '../../../load/probes/process.js'
import { answer, paragraph, table } from '../../../load/report/blocks.js'
import { count, NONE } from '../../../load/report/format.js'
import { planCores } from '../../../load/system/machine.js'
import { pinSelf, startChild } from '../../../load/system/processes.js'
import { median } from '../../stats/ranks.js'
import { spread } from '../../stats/spread.js'

/** @import { Measurement } from '../../../load/run/measurement.js' */

const DEFAULTS = { rate: 10_000, duration: 10_000, rounds: 3 }
const WARMUP_S = 2
const CONNECTIONS = 64
const STOP_GRACE_MS = 1000
const SERVER = fileURLToPath(new URL('../bench/peers/no-op.js', import.meta.url))

/**
 * What does an open-loop generator itself cost, and how late is it? Each offers the same rate, in turns, to a server that
 * does nothing and has a core of its own.
 *
 * @type {Measurement}
 */
export const generators = {
  name: 'generators',
  script: 'bench:generators',
  about: 'what does a generator cost, and how late is it?',
  flags: {
    rate: { value: 'N', about: `requests per second (default ${DEFAULTS.rate})`, ...wholeNumber(1, 100_000) },
    duration: durationFlag(`of each measurement (default ${DEFAULTS.duration / 1000}s)`),
    rounds: {
      value: 'N',
      about: `each generator is measured once in each (default ${DEFAULTS.rounds})`,
      ...wholeNumber(1, 100),
    },
  },
  examples: '  npm run bench:generators -- --rounds 5',
  plan(given) {
    const { rate: rate_rps, duration: duration_ms, rounds } = { ...DEFAULTS, ...given }
    return { rate_rps, duration_s: duration_ms / 1000, rounds, connections: CONNECTIONS }
  },
  async *measure(plan, { signal, progress }) {
    const drivers = openDrivers(progress.note)
    const cores = planCores()
    if (cores) pinSelf(cores.others)
    const port = await getPort({ host: '127.0.0.1' })
    const server = startChild([process.execPath, SERVER], {
      cores: cores?.api ?? null,
      env: { ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    try {
      for (let round = 1; round <= plan.rounds; round++) {
        for (const driver of drivers) {
          progress.note(`round ${round} of ${plan.rounds}: ${driver}`)
          yield { driver, round, ...(await offer({ ...plan, driver, port }, signal)) }
        }
      }
    } finally {
      await server.stop(STOP_GRACE_MS)
    }
  },
  analyse: (plan, rows) => ({ problem: null, plan, costs: costsOf(rows) }),
  report: ({ plan: { rate_rps, duration_s, rounds, connections }, costs }) => [
    answer(`CPU per request, relative to paced: ${costs.map(costText).join(', ')}.`),
    paragraph(
      `${count(rate_rps)}/s for ${duration_s} s over ${connections} connections, ${rounds} interleaved rounds: median [least–most]`,
    ),
    table(
      ['generator', 'achieved/s', 'late at p99, ms', 'CPU per request, us', 'ratio'],
      costs.map((/** @type {Cost} */ { driver, achieved_rps, late_ms, cpu_us, ratio }) => [
        driver,
        spread(achieved_rps, 0),
        spread(late_ms, 2),
        spread(cpu_us, 1),
        ratioText(ratio),
      ]),
      { name: 'generators' },
    ),
  ],
}

/** @typedef {{ driver: string, round: number, late_ms: number | null, cpu_us: number | null, achieved_rps: number }} Row null: not known */

/** The open-loop drivers that run here. @param {(text: string) => void} note */
function openDrivers(note) {
  const open = Object.values(DRIVERS).filter(({ loop }) => loop === 'open')
  const found = open.filter(({ check }) => {
    try {
      check?.({ url: 'http://127.0.0.1', method: 'POST' })
      return true
    } catch (error) {
      note(`left out: ${/** @type {Error} */ (error).message}`)
      return false
    }
  })
  return found.map(({ name }) => name)
}

/**
 * @param {{ driver: string, port: number, rate_rps: number, duration_s: number, connections: number }} trial
 * @param {AbortSignal} signal
 */
async function offer({ driver, port, rate_rps, duration_s, connections }, signal) {
  const url = `http://127.0.0.1:${port}/user`
  const load = { driver, url, mix: createUserMix(1), trial: 1, rate_rps, connections, timeout_s: 10 }
  const generator = await startGenerator(load, signal, () => {})
  try {
    await generator.run(WARMUP_S)
    const use = watchProcess(generator.pid)
    /** @type {number | null} */
    let cpu_s = null
    const onEnd = () => {
      cpu_s = use()?.cpu_s ?? null
    }
    const { lateness_ms, achieved_rps, sent } = await generator.run(duration_s, onEnd)
    return { late_ms: lateness_ms?.p99 ?? null, achieved_rps, cpu_us: cpu_s === null ? null : (cpu_s * 1e6) / sent }
  } finally {
    await generator.close()
  }
}

/**
 * The rows of each generator, and what it costs relative to paced.
 *
 * @param {Row[]} rows
 *
 * @typedef {{ driver: string, achieved_rps: number[], late_ms: number[], cpu_us: number[], ratio: number }} Cost
 */
function costsOf(rows) {
  const known = (/** @type {string} */ driver, /** @type {'achieved_rps' | 'late_ms' | 'cpu_us'} */ name) =>
    rows.filter((row) => row.driver === driver).flatMap((row) => row[name] ?? [])
  const reference_us = median(known('paced', 'cpu_us'))
  return [...new Set(rows.map(({ driver }) => driver))].map((driver) => {
    const cpu_us = known(driver, 'cpu_us')
    const ratio = median(cpu_us) / reference_us
    return { driver, achieved_rps: known(driver, 'achieved_rps'), late_ms: known(driver, 'late_ms'), cpu_us, ratio }
  })
}

/** @param {Cost} cost */
function costText({ driver, ratio }) {
  return `${driver} ${ratioText(ratio)}`
}

/** @param {number} ratio */
function ratioText(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}
