import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { markdownTable } from 'markdown-table'
import { startGenerator } from '../load/drive.js'
import { DRIVERS } from '../load/drivers/index.js'
import { planCores } from '../load/machine.js'
import { watchProcess } from '../load/probes/process.js'
import { pinSelf, startChild } from '../load/processes.js'
import { median } from './ranks.js'
import { spread } from './spread.js'

/**
 * `npm run bench:generators`: what does an open-loop generator itself cost, and how late is it? Each offers the same rate
 * to a server that does nothing, alone on its core, in turns. Prints medians with their range, and the ratio to paced.
 */

const RATE_RPS = 10_000
const DURATION_S = 10
const WARMUP_S = 2
const CONNECTIONS = 64
const ROUNDS = 3
const SERVER = fileURLToPath(new URL('peers/no-op.js', import.meta.url))

const drivers = Object.values(DRIVERS).filter(({ loop, check }) => {
  if (loop !== 'open') return false
  try {
    check?.({ url: 'http://127.0.0.1', method: 'POST' })
    return true
  } catch (error) {
    process.stderr.write(`left out: ${/** @type {Error} */ (error).message}\n`)
    return false
  }
})

const cores = planCores()
if (cores) pinSelf(cores.others)
const port = await getPort({ host: '127.0.0.1' })
const server = startChild([process.execPath, SERVER], {
  cores: cores?.api ?? null,
  env: { ...env, PORT: String(port) },
  stdio: ['ignore', 'ignore', 'inherit'],
})
try {
  /** @type {Record<string, { late_ms: number, cpu_us: number, achieved_rps: number }[]>} */
  const runs = Object.fromEntries(drivers.map(({ name }) => [name, []]))
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { name } of drivers) {
      process.stderr.write(`round ${round} of ${ROUNDS}: ${name}\n`)
      runs[name].push(await offer(name))
    }
  }
  print(runs)
} finally {
  await server.stop(1000)
}

/** @param {string} driver */
async function offer(driver) {
  const headers = /** @type {[string, string][]} */ ([['Content-Type', 'application/json']])
  const mix = { name: 'create-user', method: 'POST', headers, body_base64: null, seed: 1 }
  const url = `http://127.0.0.1:${port}/user`
  const load = { driver, url, mix, trial: 1, rate_rps: RATE_RPS, connections: CONNECTIONS, timeout_s: 10 }
  const generator = await startGenerator(load, new AbortController().signal, () => {})
  try {
    await generator.run(WARMUP_S)
    const use = watchProcess(generator.pid)
    let cpu_s = Number.NaN
    const onEnd = () => {
      cpu_s = use()?.cpu_s ?? Number.NaN
    }
    const { lateness_ms, achieved_rps, sent } = await generator.run(DURATION_S, onEnd)
    return { late_ms: lateness_ms?.p99 ?? Number.NaN, achieved_rps, cpu_us: (cpu_s * 1e6) / sent }
  } finally {
    await generator.close()
  }
}

/** @param {Record<string, { late_ms: number, cpu_us: number, achieved_rps: number }[]>} runs */
function print(runs) {
  const reference = median(runs.paced.map(({ cpu_us }) => cpu_us))
  const rows = Object.entries(runs).map(([name, results]) => {
    const cpu = results.map(({ cpu_us }) => cpu_us)
    const late = results.map(({ late_ms }) => late_ms)
    const rate = results.map(({ achieved_rps }) => achieved_rps)
    return [name, spread(rate, 0), spread(late, 2), spread(cpu, 1), `${(median(cpu) / reference).toFixed(2)}x`]
  })
  const head = ['generator', 'achieved/s', 'late at p99, ms', 'CPU per request, us', 'ratio']
  process.stdout.write(
    `${RATE_RPS}/s for ${DURATION_S} s over ${CONNECTIONS} connections, ${ROUNDS} interleaved rounds: `,
  )
  process.stdout.write(
    `median [least–most]\n\n${markdownTable([head, ...rows], { align: ['l', 'r', 'r', 'r', 'r'] })}\n`,
  )
}
