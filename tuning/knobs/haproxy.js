import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../load/command/errors.js'
import { startListening } from '../../load/system/listening.js'
import { versionOf } from '../../load/system/processes.js'

/** Debian installs it outside the PATH of an ordinary user. */
const PLACES = ['haproxy', '/usr/sbin/haproxy']

export const NO_HAPROXY = 'expected haproxy on PATH, found none; sudo apt-get install haproxy installs it'

export const HAPROXY_FLAG = {
  value: 'FILE',
  about: 'path of the haproxy program (default: found on PATH, or where Debian puts it)',
}

/**
 * HAProxy's program and version, or null if there is none.
 * @param {string} [given] path from --haproxy @param {string[]} [places] @throws {UsageError} if the given path is not HAProxy
 */
export function findHaproxy(given, places = PLACES) {
  for (const program of given ? [given] : places) {
    const version = versionOf(program, '-v', /^HA-?Proxy version (\S+)/)
    if (version !== 'unknown') return { program, version }
  }
  if (given) throw new UsageError(`--haproxy: expected the path of the haproxy program, got ${given}`)
  return null
}

/** Watches a server by its health check and its answers to clients. Ten errors in a row take it out at once. */
const WATCHED = ' check inter 500ms fall 2 rise 2 observe layer7 error-limit 10 on-error mark-down'
const HEALTH = ['option httpchk', 'http-check send meth GET uri /health', 'http-check expect status 200']

/** Only safe for requests that change nothing, such as the lab's GETs. */
const RETRIES = ['option redispatch 1', 'retries 2', 'retry-on conn-failure empty-response 500 502 503 504']

/**
 * A configuration on loopback, with one thread; watched: HAProxy checks /health.
 * @typedef {{ balance: string, servers: { name: string, port: number }[], watched: boolean, retries: boolean }} Backend
 * @param {Backend & { port: number }} options
 */
export function haproxyConfig({ port, balance, servers, watched, retries }) {
  const backend = [
    `balance ${balance}`,
    'http-reuse always',
    ...(watched ? HEALTH : []),
    ...(retries ? RETRIES : []),
    ...servers.map(({ name, port }) => `server ${name} 127.0.0.1:${port}${watched ? WATCHED : ''}`),
  ]
  return `global
  nbthread 1
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 10s
frontend front
  bind 127.0.0.1:${port}
  default_backend endpoints
backend endpoints
${backend.map((line) => `  ${line}\n`).join('')}`
}

/** Starts HAProxy on a free port. @param {string} program @param {Parameters<typeof startListening>[1]} where @param {Backend} backend */
export function startHaproxy(program, where, backend) {
  const file = path.join(path.dirname(where.logFile), 'haproxy.cfg')
  return startListening('HAProxy', where, 1, ([port]) => {
    writeFileSync(file, haproxyConfig({ ...backend, port }))
    return [program, '-db', '-f', file]
  })
}
