import http from 'node:http'
import https from 'node:https'
import { fileURLToPath } from 'node:url'
import { ServiceEnded, UsageError } from '../command/errors.js'
import { familyOf, nameOf } from '../probes/process.js'
import { isThisMachine } from '../system/addresses.js'
import { coresOf } from '../system/machine.js'
import { startService } from '../system/service.js'
import { openUrl } from './url.js'

/** @import { Target } from './index.js' */

const KEEPER = fileURLToPath(new URL('keeper.js', import.meta.url))
/** A JVM or a container may take long to start. */
const START_TIMEOUT_MS = 60_000
const STOP_GRACE_MS = 10_000
const POLL_TIMEOUT_MS = 2000
/** Programs that let other processes do the work, none of which is their child, and those that may run them. */
const CONTAINERS = /^(docker|docker-compose|podman|nerdctl|lxc|kubectl)$/
const RUNNERS = /^(ba|da|z|fi)?sh$|^(npm|make|env|sudo)\b/

/**
 * Starts a user's service on its core, and waits until its URL answers, with whatever status.
 * @param {{ start: string, url: string, metricsUrl?: string | null, shownUrl?: string, cores: string | null, env: NodeJS.ProcessEnv,
 *   logFile: string, cwd?: string, signal?: AbortSignal }} options start: command for the shell; logFile: takes its output; signal: ends the wait
 * @returns {Promise<Target>} @throws {UsageError} if the URL is not on this machine, or already answers
 */
export async function openStarted({ start, url, metricsUrl, shownUrl, cores, env, logFile, cwd, signal }) {
  const { origin } = new URL(url)
  if (!(await isThisMachine(url))) throw new UsageError(`--start: expected --url on this machine, got ${origin}`)
  let problem = await problemOf(url)
  if (problem === null)
    throw new UsageError(`--start: expected nothing at ${origin} yet, got an answer: end what runs there`)
  const service = await startService('the service', [process.execPath, KEEPER, start, String(STOP_GRACE_MS)], {
    ...{ cores, env, logFile, cwd, leash: 'INT', start_ms: START_TIMEOUT_MS, stopGrace_ms: 2 * STOP_GRACE_MS },
    isReady: async () => {
      problem = await problemOf(url)
      return problem === null
    },
    signal,
  }).catch(async (error) => {
    await explainEnd(error, url)
    if (problem && !(error instanceof ServiceEnded)) error.message += `; HEAD ${shownUrl ?? origin}: ${problem}`
    throw error
  })
  const family = familyOf(service.pid)
  const [, pid = service.pid] = family
  const died = service.died.catch(async (error) => {
    await explainEnd(error, url)
    throw error
  })
  died.catch(() => {})
  const started = { kind: /** @type {const} */ ('started'), died, stop: service.stop }
  // What works in a container is no descendant of the command: it cannot be watched or slowed from here, and was not pinned.
  const names = family.slice(1).map((one) => nameOf(one) ?? '')
  const others = names.filter((name) => !CONTAINERS.test(name))
  if (others.length < names.length && others.every((name) => RUNNERS.test(name))) {
    return { ...openUrl(url, { metricsUrl, shownUrl }), ...started }
  }
  // The process is a shell if the command is a script.
  const processes = [{ pid, name: 'the service' }]
  return { ...openUrl(url, { metricsUrl, shownUrl, processes }), ...started, pid, cores: coresOf(pid) }
}

/**
 * Adds to the error of a command that ended well that its service may have gone on in the background, out of the lab's reach.
 * @param {unknown} error @param {string} url
 */
async function explainEnd(error, url) {
  if (!(error instanceof ServiceEnded) || error.code !== 0) return
  const { origin } = new URL(url)
  const runs = (await problemOf(url)) === null ? `; it still runs at ${origin}: end it, and` : ': if so,'
  error.message += `. A command that puts its service into the background leaves nothing to measure${runs} keep it in the foreground (nginx: "daemon off;")`
}

/** Why a service does not answer; null: it does. Not by fetch, which refuses some ports. @param {string} url @param {number} [timeout_ms] @returns {Promise<string | null>} */
export function problemOf(url, timeout_ms = POLL_TIMEOUT_MS) {
  const { request } = url.startsWith('https:') ? https : http
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeout_ms)
    const asked = request(url, { method: 'HEAD', agent: false, signal }, (answer) => {
      answer.destroy()
      resolve(null)
    })
    asked.on('error', (/** @type {NodeJS.ErrnoException} */ { code, message }) =>
      resolve(signal.aborted ? `no answer within ${timeout_ms / 1000} s` : (code ?? message)),
    )
    asked.end()
  })
}
