import { spawnSync } from 'node:child_process'

/** Debian puts it where the PATH of an ordinary user does not look. */
const PLACES = ['haproxy', '/usr/sbin/haproxy']
const EXPECTED = 'expected haproxy on PATH, found none; sudo apt-get install haproxy installs it'

/**
 * @param {string} [given] program
 * @returns {{ program: string, version: string } | { program: null, because: string }}
 */
export function findHaproxy(given) {
  for (const program of given ? [given] : PLACES) {
    const { status, stdout } = spawnSync(program, ['-v'], { encoding: 'utf8' })
    const [, version] = /version (\S+)/.exec(stdout ?? '') ?? []
    if (status === 0 && version) return { program, version }
  }
  return { program: null, because: given ? EXPECTED.replace('on PATH', `at ${given}`) : EXPECTED }
}

/** A health check and its answers to clients watch a server. Ten errors in a row take it out at once. */
const WATCHED = ' check inter 500ms fall 2 rise 2 observe layer7 error-limit 10 on-error mark-down'
const HEALTH = ['option httpchk', 'http-check send meth GET uri /health', 'http-check expect status 200']

/** Asking again is for requests that change nothing: the lab sends GET. */
const RETRIES = ['option redispatch 1', 'retries 2', 'retry-on conn-failure empty-response 500 502 503 504']

/**
 * A configuration on loopback, with one thread: the proxies that are compared have one, too.
 *
 * @param {object} options
 * @param {number} options.port
 * @param {string} options.balance such as leastconn
 * @param {{ name: string, port: number }[]} options.servers
 * @param {boolean} options.watched whether /health says how a server is
 * @param {boolean} options.retries
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
