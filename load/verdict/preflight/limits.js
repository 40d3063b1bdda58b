import { SETTINGS } from '../../../api/settings.js'
import { count } from '../../report/format.js'

/** @import { Check, Facts, Planned } from './preflight.js' */

/** Open files of the generator other than connections: 20 counted for Node and the channel to the lab, plus some to spare. */
const GENERATOR_FILES = 32
/** Files that the API reserves besides its pool (api/open-files.js): OTHER_FILES and the default PIPELINE_CONNECTIONS. */
const API_FILES = 48 + SETTINGS.PIPELINE_CONNECTIONS.default
/** Time for which the side that closes first keeps the port (TCP_TIMEWAIT_LEN in Linux' include/net/tcp.h). */
const TIME_WAIT_S = 60
/** Time after which net.ipv4.tcp_tw_reuse lets connect() reuse the port: once the timestamp advances (Linux' ip-sysctl.rst). */
const TIME_WAIT_REUSED_S = 1
/** Connections left for other clients of Postgres: the API's readiness check, the lab's probes, a psql session. */
const SPARE_DATABASE_CONNECTIONS = 4

/** Checks for limits that the load would reach. @type {Record<string, Check>} */
export const LIMITS = {
  'generator-nofile': {
    what: 'open files, generator',
    why: 'each connection is an open file; beyond the hard limit connecting fails with EMFILE (client:nofile)',
    mend: 'raise both limits where the lab is started: ulimit -n as root, LimitNOFILE= in a unit, --ulimit nofile= of a container',
    of: 'load',
    look: ({ generator_nofile }, plan) => generator_nofile && files(generator_nofile, plan, GENERATOR_FILES),
  },
  // Each connection to one destination takes a port. A port in TIME_WAIT is unavailable only for the same destination and for
  // bind() (Linux' __inet_hash_connect, inet_csk_get_port), so needing those ports is only a warning.
  ports: {
    what: 'ports for connections',
    why: 'each connection to the service takes one; when none is left, connecting fails with EADDRNOTAVAIL (client:ports)',
    mend: 'widen the range: sysctl -w net.ipv4.ip_local_port_range="1024 65535", or load from more addresses (--local-addresses, --load-hosts), or wait a minute for TIME_WAIT to end',
    of: 'load',
    look({ ephemeral_ports, time_wait }, { connections, addresses = 1 }) {
      if (ephemeral_ports === null) return null
      const waiting = time_wait ?? 0
      const all = ephemeral_ports * addresses
      const value = `${count(all)}, at most ${count(waiting)} of them in TIME_WAIT; ${count(connections)} needed`
      return { isOk: all - waiting >= connections, isUsable: all >= connections, value }
    },
  },
  'ports-per-request': {
    what: 'ports for a connection per request',
    why: `the side that closes first keeps the port for ${TIME_WAIT_S} s; tcp_tw_reuse shortens it for connect(), but not after bind(), as vegeta does`,
    mend: 'keep connections alive, lower the rate, widen net.ipv4.ip_local_port_range, or load from more addresses (--local-addresses, --load-hosts)',
    of: 'load',
    fresh: true,
    look({ ephemeral_ports, tw_reuse }, { rate_rps, addresses = 1, loopback = true }) {
      if (ephemeral_ports === null) return null
      const reuse = tw_reuse === 1 || (tw_reuse === 2 && loopback)
      const all = ephemeral_ports * addresses
      const sustained_rps = Math.floor(all / TIME_WAIT_S)
      const reused_rps = reuse ? Math.floor(all / TIME_WAIT_REUSED_S) : sustained_rps
      const planned = rate_rps === null ? 'the rate is not known yet' : `${count(rate_rps)}/s planned`
      const reuse_text = reuse ? `, with tcp_tw_reuse for ${count(reused_rps)}/s` : ''
      const value = `${count(all)}, enough for ${count(sustained_rps)}/s${reuse_text}; ${planned}`
      return { isOk: sustained_rps >= (rate_rps ?? 0), isUsable: reused_rps >= (rate_rps ?? 0), value }
    },
  },
  'api-nofile': {
    what: 'open files, API',
    why: 'the API keeps files for its database connections and for itself, and closes client connections beyond the rest',
    mend: 'raise both limits where the API is started: ulimit -n as root, LimitNOFILE= in a unit, or plan fewer connections',
    of: 'api',
    look: ({ api_nofile }, plan) => api_nofile && plan.pool_max && files(api_nofile, plan, plan.pool_max + API_FILES),
  },
  // listen() silently uses the lower of the two (Linux' __sys_listen). A client that finds the queue full resends its SYN
  // after a second (RFC 6298, 2.1).
  backlog: {
    what: 'accept queue',
    why: 'connections that arrive at once and overflow it are retried a second later, which looks like a slow service',
    mend: 'raise LISTEN_BACKLOG and net.core.somaxconn to the number of connections that may arrive at once',
    of: 'api',
    look({ somaxconn }, plan) {
      if (plan.backlog === null || somaxconn === null) return null
      const size = Math.min(plan.backlog, somaxconn)
      const most = Math.min(plan.connections, plan.at_once ?? plan.connections)
      const value = `${count(size)} (backlog ${count(plan.backlog)}, somaxconn ${count(somaxconn)}), ${count(most)} may arrive at once`
      return { isOk: size === plan.backlog && size >= most, isUsable: true, value }
    },
  },
  pool: {
    what: 'database connections',
    why: 'beyond that number, Postgres refuses connections (53300), and requests fail',
    mend: 'all pools together have to stay below SHOW max_connections',
    of: 'lab',
    look({ database_connections: database }, { pool_max }) {
      if (!database || pool_max === null) return null
      const { max, reserved, used } = database
      const free = max - reserved - used
      const lower = Math.max(1, free - SPARE_DATABASE_CONNECTIONS)
      const higher = max + pool_max + SPARE_DATABASE_CONNECTIONS - free
      const mend = `set POOL_MAX=${lower} or less, or max_connections = ${higher} or more in postgresql.conf and restart it`
      const value = `${count(free)} free (max_connections ${count(max)}, ${count(reserved)} reserved, ${count(used)} used), ${count(pool_max)} needed`
      return { isOk: free >= pool_max + SPARE_DATABASE_CONNECTIONS, isUsable: free >= pool_max, value, mend }
    },
  },
}

/**
 * The hard limit counts, since Node (src/node.cc, PlatformInit) and Go programs raise their soft limit to it at startup. A
 * generator with a connection per request has one for each request in flight: rate x time (Little's law).
 * @param {NonNullable<Facts['api_nofile']>} limit @param {Planned} plan @param {number} others files that are no connections
 */
function files({ soft, hard }, { connections: planned, fresh_connections, rate_rps, timeout_s }, others) {
  const unanswered = fresh_connections ? Math.ceil((rate_rps ?? 0) * timeout_s) : 0
  const most = Math.max(planned, unanswered)
  const most_text = most > planned ? `, ${count(most + others)} when no answer comes before the timeout` : ''
  const value = `hard limit ${count(hard)} (soft ${count(soft)}), ${count(planned + others)} needed${most_text}`
  return { isOk: hard >= most + others, isUsable: hard >= planned + others, value }
}
