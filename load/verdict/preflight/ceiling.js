import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startGenerator } from '../../generators/drive.js'
import { createUserMix } from '../../generators/mix.js'
import { watchProcess } from '../../probes/process.js'
import { startChild } from '../../system/processes.js'
import { NODE_FLAGS } from '../../targets/index.js'

/**
 * @import { ProcessUse } from '../../probes/process.js'
 * @import { Readable } from 'node:stream'
 * @import { Traffic } from '../../report/record.js'
 */

export const NULL_SERVER = fileURLToPath(new URL('null-server.js', import.meta.url))
const STOP_GRACE_MS = 500
/** Share of a core at which a process is at its limit; the kernel and the 10 ms clock tick account for the rest. */
const FULL_CORE_RATIO = 0.85
/** Both processes are new and V8 has compiled nothing yet, so they start at half their eventual rate for about a second. */
const WARMUP_S = 1.5
const DURATION_S = 1
/** The API's own requests, in a closed loop. */
const LOAD = { driver: 'autocannon', mix: createUserMix(1), trial: 1, rate_rps: null, connections: 64, timeout_s: 1 }

/**
 * Measures the generator's maximum rate against a server that does next to nothing, each on its own cores.
 * @param {{ cores: string | null, signal: AbortSignal }} run cores: the server's, the same as the API's; the generator runs on ours
 * @returns {Promise<Ceiling | { failed: string }>} failed: the reason, such as responses other than 201
 * @throws the signal's reason if it is aborted
 */
export async function measureCeiling({ cores, signal }) {
  /** @type {(() => Promise<unknown>)[]} */
  const opened = []
  try {
    const server = await startNullServer(cores)
    opened.push(server.stop)
    const generator = await startGenerator({ ...LOAD, url: server.url }, signal, () => {})
    opened.push(generator.close)
    await Promise.race([generator.run(WARMUP_S), server.died])
    const [generatorUse, serverUse] = [watchProcess(generator.pid), watchProcess(server.pid)]
    const uses = { generator: generatorUse(), server: serverUse() }
    const onEnd = () => Object.assign(uses, { generator: generatorUse(), server: serverUse() })
    const traffic = await Promise.race([generator.run(DURATION_S, onEnd), server.died])
    return ceilingOf(traffic, uses)
  } catch (error) {
    signal.throwIfAborted()
    return { failed: /** @type {Error} */ (error).message }
  } finally {
    await Promise.allSettled(opened.map((close) => close()))
  }
}

/** @param {string | null} cores */
export async function startNullServer(cores) {
  const command = [process.execPath, ...NODE_FLAGS, NULL_SERVER]
  const { child, exited, stop } = startChild(command, { cores, stdio: ['ignore', 'pipe', 'inherit'] })
  const died = exited.then(({ code, signal }) => {
    throw new Error(`the null server ended unexpectedly (${signal ?? `code ${code}`})`)
  })
  died.catch(() => {})
  const [port] = await Promise.race([once(/** @type {Readable} */ (child.stdout), 'data'), died])
  const url = `http://127.0.0.1:${Number(port)}/user`
  return { pid: /** @type {number} */ (child.pid), url, died, stop: () => stop(STOP_GRACE_MS) }
}

/**
 * ceiling_rps: a lower bound unless the generator was the bottleneck; ratios: 1 is a whole core, null is unknown.
 * @param {Traffic} traffic @param {Record<'generator' | 'server', ProcessUse | null>} uses
 * @typedef {ReturnType<typeof ceilingOf>} Ceiling
 */
function ceilingOf({ sent, completed, status, errors, achieved_rps }, { generator, server }) {
  if (completed < sent || Object.keys(status).join() !== '201') {
    const kinds = Object.entries({ ...status, ...errors }).map(([kind, number]) => `${number} x ${kind}`)
    throw new Error(`expected 201 from the null server for each of ${sent} requests, got ${kinds.join(', ') || 'none'}`)
  }
  // Do not divide by wall time: autocannon notices the end of its run up to 0.1 s late.
  const load_s = completed / achieved_rps
  const [generator_core_ratio, server_core_ratio] = [generator, server].map((use) => {
    return use && Number((use.cpu_s / load_s).toFixed(3))
  })
  const bound_by = boundBy(generator_core_ratio, server_core_ratio)
  return { ceiling_rps: achieved_rps, generator_core_ratio, server_core_ratio, bound_by }
}

/**
 * Which of the two saturated its core; neither: other processes used their cores.
 * @param {number | null} generator @param {number | null} server @returns {'generator' | 'server' | 'neither' | null}
 */
function boundBy(generator, server) {
  if (generator === null || server === null) return null
  if (Math.max(generator, server) < FULL_CORE_RATIO) return 'neither'
  return generator >= server ? 'generator' : 'server'
}
