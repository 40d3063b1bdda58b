import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { fileURLToPath } from 'node:url'
import { TLS_FILES } from '../../sql/address.js'
import { UsageError } from '../command/errors.js'
import { addressOption } from '../system/ssh/plan.js'

/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Place, Target } from './index.js'
 */

const ROOT = new URL('../../', import.meta.url)
const POLL_TIMEOUT_MS = 5000
const TAKEN_TIMEOUT_MS = 1000

/**
 * Has the agent on another host start the API, and waits until the API is ready there and answers here.
 * @param {Place} place @returns {Promise<Target>}
 * @throws {UsageError} if the API refuses its configuration, or its port is closed to us
 */
export async function openSsh(place) {
  const { databaseUrl, env, node, nofile, cores } = place
  const host = /** @type {Host} */ (place.host)
  const died = host.died()
  // The host's copy includes the files of this checkout.
  const nodeFlags = place.nodeFlags?.map((flag) => {
    return flag.replace(ROOT.href, `file://${host.root}`).replace(fileURLToPath(ROOT), host.root)
  })
  const asked = { databaseUrl, env, node, nodeFlags, nofile, cores, files: filesOf(databaseUrl) }
  const origin = `http://${isIPv6(host.address) ? `[${host.address}]` : host.address}:${host.port}`
  await refuseTaken(origin, host)
  const started = await host.ask('start', { ...asked, address: host.bind, port: host.port })
  /** @type {Awaited<ReturnType<Host['forwardPort']>> | undefined} */
  let tunnel
  const stop = async () => {
    await host.ask('stop').catch(() => {})
    await tunnel?.end()
  }
  try {
    tunnel = await host.forwardPort(Number(new URL(started.adminUrl).port))
    const adminUrl = `http://127.0.0.1:${tunnel.port}`
    const tunnelled = '/readyz of the API through the connection'
    await check(`${adminUrl}/readyz`, host, tunnelled, 'sshd has to allow forwarding (AllowTcpForwarding)')
    const answers = `the API, ready on port ${host.port} of ${host.address}, to be reachable from here`
    const open = `open TCP ${host.port} to this machine (security group, firewall)`
    await check(`${origin}/openapi.json`, host, answers, `${open}, or ${otherWay(host)}`)
    const urls = { url: `${origin}/user`, adminUrl, metricsUrl: `${adminUrl}/metrics` }
    return { ...started, kind: 'ssh', host, ...urls, died, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Contents of the files that the URL names, which the host needs too. @param {string} databaseUrl @returns {Record<string, string>} */
function filesOf(databaseUrl) {
  const { searchParams } = new URL(databaseUrl)
  const named = TLS_FILES.filter((name) => searchParams.has(name))
  return Object.fromEntries(named.map((name) => [name, readFileSync(String(searchParams.get(name)), 'utf8')]))
}

/** Refuses an origin at which another service would get the load instead. @param {string} origin @param {Host} host */
async function refuseTaken(origin, host) {
  const answer = await fetch(origin, { signal: AbortSignal.timeout(TAKEN_TIMEOUT_MS) }).catch(() => null)
  await answer?.body?.cancel()
  // A proxy that finds nothing behind it.
  if (answer && ![502, 503, 504].includes(answer.status)) {
    throw new UsageError(
      `${host.flag} ${host.name}: expected nothing at ${origin} yet, got an answer: end what runs there, or ${otherWay(host)}`,
    )
  }
}

/** Refuses a page that does not answer. @param {string} url @param {Host} host @param {string} expected @param {string} advice */
async function check(url, host, expected, advice) {
  let got
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) })
    await answer.arrayBuffer()
    if (answer.ok) return
    got = answer.status
  } catch (error) {
    const { cause, name, message } = /** @type {any} */ (error)
    const late = name === 'TimeoutError' && `no answer within ${POLL_TIMEOUT_MS / 1000} s`
    got = late || (cause?.code ?? cause?.message ?? message)
  }
  throw new UsageError(`${host.flag} ${host.name}: expected ${expected}, got ${got}: ${advice}`)
}

/** @param {Host} host */
function otherWay({ flag }) {
  return `choose another way: --ssh-port, ${addressOption(flag)}`
}
