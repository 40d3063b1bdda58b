import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { markdownTable } from 'markdown-table'
import { duration, helpText, parseFlags, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { startGenerator } from '../../../load/generators/drive.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { createUserMix } from '../../../load/generators/mix.js'
import { watchProcess } from '../../../load/probes/process.js'
import { planCores } from '../../../load/system/machine.js'
import { pinSelf, startChild } from '../../../load/system/processes.js'
import { median } from '../../stats/ranks.js'
import { spread } from '../../stats/spread.js'

/**
 * `npm run bench:generators`: what does an open-loop generator itself cost, and how late is it? Each offers the same rate
 * to a server that does nothing, alone on its core, in turns. Prints medians with their range, and the ratio to paced.
 */

const WARMUP_S = 2
const CONNECTIONS = 64
const SERVER = fileURLToPath(new URL('../bench/peers/no-op.js', import.meta.url))

const FLAGS = {
  rate: { value: 'N', about: 'requests per second (default 10000)', ...wholeNumber(1, 100_000) },
  duration: {
    value: 'TIME',
    about: 'of each measurement (default 10s)',
    parse: duration,
    expected: 'a time such as 10s',
  },
  rounds: { value: 'N', about: 'each generator is measured once in each (default 3)', ...wholeNumber(1, 100) },
  help: { value: '', about: 'this text' },
}

const TITLE = 'npm run bench:generators -- [flags]\n\nWhat does a generator cost, and how late is it?'

try {
  const flags = parseFlags(FLAGS, process.argv.slice(2))
  if (flags.help) process.stdout.write(helpText(TITLE, FLAGS, '  npm run bench:generators -- --rounds 5\n'))
  else
    await main({
      rate_rps: flags.rate ?? 10_000,
      duration_s: (flags.duration ?? 10_000) / 1000,
      rounds: flags.rounds ?? 3,
    })
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exitCode = 2
}

/** @typedef {{ rate_rps: number, duration_s: number, rounds: number }} Plan */
/** @typedef {{ late_ms: number, cpu_us: number, achieved_rps: number }} Result */

/** @param {Plan} plan */
async function main(plan) {
  const drivers = openDrivers()
  const cores = planCores()
  if (cores) pinSelf(cores.others)
  const port = await getPort({ host: '127.0.0.1' })
  const server = startChild([process.execPath, SERVER], {
    cores: cores?.api ?? null,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    /** @type {Record<string, Result[]>} */
    const results = Object.fromEntries(drivers.map((name) => [name, []]))
    for (let round = 1; round <= plan.rounds; round++) {
      for (const driver of drivers) {
        process.stderr.write(`round ${round} of ${plan.rounds}: ${driver}\n`)
        results[driver].push(await offer({ ...plan, driver, port }))
      }
    }
    print(plan, results)
  } finally {
    await server.stop(1000)
  }
}

/** The open-loop drivers that run here. */
function openDrivers() {
  const open = Object.values(DRIVERS).filter(({ loop }) => loop === 'open')
  const found = open.filter(({ check }) => {
    try {
      check?.({ url: 'http://127.0.0.1', method: 'POST' })
      return true
    } catch (error) {
      process.stderr.write(`left out: ${/** @type {Error} */ (error).message}\n`)
      return false
    }
  })
  return found.map(({ name }) => name)
}

/** @param {Plan & { driver: string, port: number }} trial @returns {Promise<Result>} */
async function offer({ driver, port, rate_rps, duration_s }) {
  const url = `http://127.0.0.1:${port}/user`
  const load = { driver, url, mix: createUserMix(1), trial: 1, rate_rps, connections: CONNECTIONS, timeout_s: 10 }
  const generator = await startGenerator(load, new AbortController().signal, () => {})
  try {
    await generator.run(WARMUP_S)
    const use = watchProcess(generator.pid)
    let cpu_s = Number.NaN
    const onEnd = () => {
      cpu_s = use()?.cpu_s ?? Number.NaN
    }
    const { lateness_ms, achieved_rps, sent } = await generator.run(duration_s, onEnd)
    return { late_ms: lateness_ms?.p99 ?? Number.NaN, achieved_rps, cpu_us: (cpu_s * 1e6) / sent }
  } finally {
    await generator.close()
  }
}

/** @param {Plan} plan @param {Record<string, Result[]>} results */
function print({ rate_rps, duration_s, rounds }, results) {
  const reference = median(results.paced.map(({ cpu_us }) => cpu_us))
  const rows = Object.entries(results).map(([name, ofDriver]) => {
    const cpu = ofDriver.map(({ cpu_us }) => cpu_us)
    const late = ofDriver.map(({ late_ms }) => late_ms)
    const rate = ofDriver.map(({ achieved_rps }) => achieved_rps)
    return [name, spread(rate, 0), spread(late, 2), spread(cpu, 1), `${(median(cpu) / reference).toFixed(2)}x`]
  })
  const head = ['generator', 'achieved/s', 'late at p99, ms', 'CPU per request, us', 'ratio']
  process.stdout.write(
    `${rate_rps}/s for ${duration_s} s over ${CONNECTIONS} connections, ${rounds} interleaved rounds: `,
  )
  process.stdout.write(
    `median [least–most]\n\n${markdownTable([head, ...rows], { align: ['l', 'r', 'r', 'r', 'r'] })}\n`,
  )
}
