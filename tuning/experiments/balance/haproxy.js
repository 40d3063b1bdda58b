import { spawnSync } from 'node:child_process'

/** HAProxy's strategies: the algorithm that balances, and whether requests are retried. */
export const HAPROXY = {
  'haproxy-leastconn': { balance: 'leastconn', retries: false },
  'haproxy-random': { balance: 'random(2)', retries: false },
  'haproxy-retry': { balance: 'leastconn', retries: true },
}

/** Debian installs it outside the PATH of an ordinary user. */
const PLACES = ['haproxy', '/usr/sbin/haproxy']

/** The program and its version, or null for both and the problem to report. @param {string} [given] program */
export function findHaproxy(given) {
  for (const program of given ? [given] : PLACES) {
    const { status, stdout } = spawnSync(program, ['-v'], { encoding: 'utf8' })
    const [, version] = /version (\S+)/.exec(stdout ?? '') ?? []
    if (status === 0 && version) return { program, version, problem: null }
  }
  const where = given ? `at ${given}` : 'on PATH'
  const problem = `expected haproxy ${where}, found none; sudo apt-get install haproxy installs it`
  return { program: null, version: null, problem }
}

/** Watches a server by its health check and its answers to clients. Ten errors in a row take it out at once. */
const WATCHED = ' check inter 500ms fall 2 rise 2 observe layer7 error-limit 10 on-error mark-down'
const HEALTH = ['option httpchk', 'http-check send meth GET uri /health', 'http-check expect status 200']

/** Only safe for requests that change nothing, such as the lab's GETs. */
const RETRIES = ['option redispatch 1', 'retries 2', 'retry-on conn-failure empty-response 500 502 503 504']

/**
 * A configuration on loopback, with one thread like the proxies that it is compared with; watched: HAProxy checks /health.
 * @param {{ port: number, balance: string, servers: { name: string, port: number }[], watched: boolean, retries: boolean }} options
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
