import { readFileSync } from 'node:fs'
import { availableMemory_bytes, watchDisks } from './disk.js'

/** @import { Probe } from './index.js' */

/** /proc/net/tcp: the state of a socket that listens (include/net/tcp_states.h). */
const LISTEN = '0A'

/**
 * What the kernel counts: what became of connections, where the cores' time went, what the disks did. The counters of TCP are those of
 * the whole machine (its network namespace): on one that does other things, too, they are an upper bound.
 *
 * @param {{ url: string, ours: boolean }} target ours: it listens on this machine
 * @returns {Probe | null} null where there is no /proc
 */
export function watchKernel({ url, ours }) {
  const first = readCounters()
  if (!first) return null
  const disks = watchDisks()
  const port = ours ? Number(new URL(url).port) : null
  let accept_queue_max = 0
  return {
    async sample() {
      if (port !== null) accept_queue_max = Math.max(accept_queue_max, acceptQueue(port))
    },

    end() {
      const last = readCounters()
      const disk = disks()
      return async () => {
        if (!last) return {}
        const grown = (/** @type {'listen_overflows' | 'listen_drops' | 'retransmits' | 'segments_sent'} */ name) => {
          return last[name] - first[name]
        }
        return {
          listen_overflows: grown('listen_overflows'),
          listen_drops: grown('listen_drops'),
          retransmits: grown('retransmits'),
          segments_sent: grown('segments_sent'),
          time_wait: last.time_wait,
          accept_queue_max: port === null ? null : accept_queue_max,
          pressure_cpu_ratio:
            last.pressure_us === null
              ? null
              : (last.pressure_us - Number(first.pressure_us)) / (last.at_us - first.at_us),
          cores: coreShares(first.cores, last.cores),
          disk,
          memory_available_bytes: availableMemory_bytes(),
        }
      }
    },
  }
}

function readCounters() {
  try {
    const netstat = pairs('/proc/net/netstat', 'TcpExt:')
    const snmp = pairs('/proc/net/snmp', 'Tcp:')
    return {
      at_us: performance.now() * 1000,
      listen_overflows: netstat.ListenOverflows,
      listen_drops: netstat.ListenDrops,
      retransmits: snmp.RetransSegs,
      segments_sent: snmp.OutSegs,
      time_wait: Number(/^TCP:.* tw (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1] ?? 0),
      pressure_us: pressure_us(),
      cores: coreTimes(),
    }
  } catch {
    return null
  }
}

/** Two lines with the same prefix: names, then values. @param {string} file @param {string} prefix @returns {Record<string, number>} */
function pairs(file, prefix) {
  const lines = readFileSync(file, 'utf8').split('\n')
  const [names, values] = lines.filter((line) => line.startsWith(prefix)).map((line) => line.split(' '))
  return Object.fromEntries(names.map((name, i) => [name, Number(values[i])]))
}

/** Time in which some task waited for a core (Documentation/accounting/psi.rst). @returns {number | null} */
function pressure_us() {
  try {
    return Number(/^some .*total=(\d+)/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1])
  } catch {
    return null
  }
}

/** @returns {Record<string, number[]>} per core: user, nice, system, idle, iowait, irq, softirq, steal, in ticks (proc(5)) */
export function coreTimes() {
  const lines = readFileSync('/proc/stat', 'utf8').matchAll(/^cpu(\d+) (.*)$/gm)
  return Object.fromEntries([...lines].map(([, core, fields]) => [core, fields.split(' ').map(Number)]))
}

/**
 * Where each core's time went: processes (of whom `busy` is the whole), the kernel's interrupts, and what the host took.
 *
 * @param {Record<string, number[]>} before
 * @param {Record<string, number[]>} now
 * @returns {Record<string, CoreShare>}
 *
 * @typedef {{ busy_ratio: number, interrupts_ratio: number, steal_ratio: number }} CoreShare
 */
export function coreShares(before, now) {
  const rows = Object.entries(now).map(([core, ticks]) => {
    const [user, nice, system, idle, iowait, irq, softirq, steal] = ticks.map(
      (tick, i) => tick - (before[core]?.[i] ?? 0),
    )
    const all = Math.max(1, user + nice + system + idle + iowait + irq + softirq + steal)
    return [
      core,
      {
        busy_ratio: (user + nice + system) / all,
        interrupts_ratio: (irq + softirq) / all,
        steal_ratio: steal / all,
      },
    ]
  })
  return Object.fromEntries(rows)
}

/** Connections that wait to be accepted on a port: the receive queue of a socket that listens. @param {number} port */
function acceptQueue(port) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listening(file, hex))
  return lines.reduce((most, queued) => Math.max(most, queued), 0)
}

/** @param {string} file @param {string} hexPort @returns {number[]} */
function listening(file, hexPort) {
  try {
    const rows = readFileSync(file, 'utf8').matchAll(/^ *\d+: \w+:(\w{4}) \S+ (\w\w) \w+:(\w+)/gm)
    return [...rows].flatMap(([, port, state, queue]) => {
      return port === hexPort && state === LISTEN ? [Number.parseInt(queue, 16)] : []
    })
  } catch {
    return []
  }
}
