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

/** Files that a database URL may name. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * Starts the API on another host, by the agent there, and waits until it is ready there and answers here.
 *
 * @param {Place} place
 * @returns {Promise<Target>}
 * @throws {UsageError} when it refuses its configuration, or its port is closed to us
 */
export async function openSsh(place) {
  const host = /** @type {Host} */ (place.host)
  const { databaseUrl, env, node, nodeFlags, nofile, cores } = place
  const died = host.died()
  const started = await host.ask('start', {
    databaseUrl,
    files: filesOf(databaseUrl),
    env,
    node,
    nodeFlags: nodeFlags?.map((flag) => flagThere(flag, host.root)),
    nofile,
    cores,
    address: host.bind,
    port: host.port,
  })
  /** @type {{ port: number, end: () => Promise<void> } | undefined} */
  let tunnel
  const stop = async () => {
    await host.ask('stop').catch(() => {})
    await tunnel?.end()
  }
  try {
    tunnel = await host.connection.forward(Number(new URL(started.adminUrl).port))
    const adminUrl = `http://127.0.0.1:${tunnel.port}`
    const origin = `http://${isIPv6(host.address) ? `[${host.address}]` : host.address}:${host.port}`
    await checkTunnel(adminUrl, host)
    await checkPort(origin, host)
    return {
      ...started,
      kind: 'ssh',
      host,
      url: `${origin}/user`,
      adminUrl,
      metricsUrl: `${adminUrl}/metrics`,
      died,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A file of this checkout is one of the copy there. @param {string} flag @param {string} root there */
function flagThere(flag, root) {
  return flag.replace(ROOT.href, `file://${root}`).replace(fileURLToPath(ROOT), root)
}

/** What the URL names lies here, and has to lie there. @param {string} databaseUrl @returns {Record<string, string>} */
function filesOf(databaseUrl) {
  const { searchParams } = new URL(databaseUrl)
  return Object.fromEntries(
    FILES.flatMap((name) => {
      const file = searchParams.get(name)
      return file === null ? [] : [[name, readFileSync(file, 'utf8')]]
    }),
  )
}

/** @param {string} adminUrl @param {Host} host */
async function checkTunnel(adminUrl, { name }) {
  const { status, problem } = await ask(`${adminUrl}/readyz`)
  if (status === 200) return
  throw new UsageError(
    `--ssh ${name}: expected /readyz of the API through the connection, got ${status ?? problem}: sshd has to allow forwarding (AllowTcpForwarding)`,
  )
}

/**
 * The API is ready there: if it does not answer here, something stands between.
 *
 * @param {string} origin
 * @param {Host} host
 */
async function checkPort(origin, { name, address, port }) {
  const { status, problem } = await ask(`${origin}/openapi.json`)
  if (status === 200) return
  throw new UsageError(
    `--ssh ${name}: expected the API on port ${port} of ${address}, which is ready there, to answer here, got ${status ?? problem}: ` +
      `open TCP ${port} to this machine (security group, firewall), or tell another way: --ssh-port, --ssh-address`,
  )
}

/** @param {string} url @returns {Promise<{ status: number | null, problem: string }>} */
async function ask(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) })
    await answer.arrayBuffer()
    return { status: answer.status, problem: '' }
  } catch (error) {
    const { cause, name, message } = /** @type {any} */ (error)
    const late = name === 'TimeoutError' ? `no answer within ${POLL_TIMEOUT_MS / 1000} s` : null
    return { status: null, problem: late ?? cause?.code ?? cause?.message ?? message }
  }
}
