import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../command/errors.js'

/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Place, Target } from './index.js'
 */

const ROOT = new URL('../../', import.meta.url)
const POLL_TIMEOUT_MS = 5000

/** Parameters of a database URL that name files, which have to go with it. */
export const DATABASE_FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * Starts the API on another host, by the agent there, and waits until it is ready there and answers here.
 *
 * @param {Place} place @returns {Promise<Target>}
 * @throws {UsageError} when it refuses its configuration, or its port is closed to us
 */
export async function openSsh(place) {
  const host = /** @type {Host} */ (place.host)
  const { databaseUrl, env, node, nofile, cores } = place
  const died = host.died()
  // A file of this checkout is one of the copy there.
  const nodeFlags = place.nodeFlags?.map((flag) => {
    return flag.replace(ROOT.href, `file://${host.root}`).replace(fileURLToPath(ROOT), host.root)
  })
  const asked = { databaseUrl, env, node, nodeFlags, nofile, cores, files: filesOf(databaseUrl) }
  const started = await host.ask('start', { ...asked, address: host.bind, port: host.port })
  /** @type {{ port: number, end: () => Promise<unknown> } | undefined} */
  let tunnel
  const stop = async () => {
    await host.ask('stop').catch(() => {})
    await tunnel?.end()
  }
  try {
    tunnel = await host.forwardPort(Number(new URL(started.adminUrl).port))
    const adminUrl = `http://127.0.0.1:${tunnel.port}`
    const origin = `http://${isIPv6(host.address) ? `[${host.address}]` : host.address}:${host.port}`
    const whatTunnel = '/readyz of the API through the connection'
    await check(`${adminUrl}/readyz`, host, whatTunnel, 'sshd has to allow forwarding (AllowTcpForwarding)')
    const whatPort = `the API on port ${host.port} of ${host.address}, which is ready there, to answer here`
    const open = `open TCP ${host.port} to this machine (security group, firewall)`
    await check(`${origin}/openapi.json`, host, whatPort, `${open}, or tell another way: --ssh-port, --ssh-address`)
    const urls = { url: `${origin}/user`, adminUrl, metricsUrl: `${adminUrl}/metrics` }
    return { ...started, kind: 'ssh', host, ...urls, died, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What the URL names lies here, and has to lie there. @param {string} databaseUrl @returns {Record<string, string>} */
function filesOf(databaseUrl) {
  const { searchParams } = new URL(databaseUrl)
  const named = DATABASE_FILES.filter((name) => searchParams.has(name))
  return Object.fromEntries(named.map((name) => [name, readFileSync(String(searchParams.get(name)), 'utf8')]))
}

/** Refuses a page that does not answer. @param {string} url @param {Host} host @param {string} what @param {string} mend */
async function check(url, { name }, what, mend) {
  let got
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) })
    await answer.arrayBuffer()
    if (answer.ok) return
    got = answer.status
  } catch (error) {
    const { cause, name, message } = /** @type {any} */ (error)
    const isLate = name === 'TimeoutError'
    got = isLate ? `no answer within ${POLL_TIMEOUT_MS / 1000} s` : (cause?.code ?? cause?.message ?? message)
  }
  throw new UsageError(`--ssh ${name}: expected ${what}, got ${got}: ${mend}`)
}
