import { closeSync, openSync, readSync } from 'node:fs'
import { attempt } from '../../sql/attempt.js'
import { numberIn, textOf } from '../system/machine.js'
import { watchDisks } from './disk.js'

/**
 * @import { Probe } from './index.js'
 * @import { CoreShare } from '../report/record.js'
 */

/** State of a listening socket in /proc/net/tcp (include/net/tcp_states.h). */
const LISTEN = '0A'

/**
 * Watches the kernel's counters of connections, cores and disks. TCP counters cover the whole network namespace, so they are an
 * upper bound if the machine does other things, too.
 * @param {{ url: string, ours: boolean }} target ours: whether it listens on this machine
 * @returns {Probe | null} null without /proc
 */
export function watchKernel({ url, ours }) {
  const first = readCounters()
  if (!first) return null
  const disks = watchDisks()
  const port = ours ? portOf(url) : null
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
        const { to_us, time_wait, waited_us, cores, tcp } = last
        const grown = Object.entries(tcp).map(([name, count]) => [name, count - first.tcp[name]])
        const pressures = Object.entries(waited_us).map(([name, all_us]) => {
          const before_us = first.waited_us[name]
          const isKnown = all_us !== null && before_us !== null
          return [`pressure_${name}_ratio`, isKnown ? (all_us - before_us) / (to_us - first.from_us) : null]
        })
        const available_kib = numberIn('/proc/meminfo', /^MemAvailable:\s+(\d+) kB$/m)
        return {
          ...Object.fromEntries(grown),
          time_wait,
          accept_queue_max: port === null ? null : accept_queue_max,
          somaxconn: port === null ? null : numberIn('/proc/sys/net/core/somaxconn', /^(\d+)/),
          ...Object.fromEntries(pressures),
          cores: coreShares(first.cores, cores),
          disk,
          memory_available_bytes: available_kib && available_kib * 1024,
        }
      }
    },
  }
}

function readCounters() {
  const netstat = pairs('/proc/net/netstat', 'TcpExt:')
  const snmp = pairs('/proc/net/snmp', 'Tcp:')
  if (!netstat || !snmp) return null
  return {
    // Before and after the rest is read, so that no wait is longer than the time in which it happened.
    from_us: performance.now() * 1000,
    tcp: /** @type {Record<string, number>} */ ({
      listen_overflows: netstat.ListenOverflows,
      listen_drops: netstat.ListenDrops,
      retransmits: snmp.RetransSegs,
      segments_sent: snmp.OutSegs,
      tracking_drops: trackingDrops(textOf('/proc/net/stat/nf_conntrack') ?? ''),
    }),
    time_wait: numberIn('/proc/net/sockstat', /^TCP:.* tw (\d+)/m) ?? 0,
    waited_us: Object.fromEntries(['cpu', 'io', 'memory'].map((name) => [name, waitedFor(name)])),
    cores: coreTimes(),
    to_us: performance.now() * 1000,
  }
}

/** Total time (us) in which some task waited for this resource (Documentation/accounting/psi.rst). @param {string} what */
function waitedFor(what) {
  return numberIn(`/proc/pressure/${what}`, /^some .*total=(\d+)/m)
}

/**
 * Packets that connection tracking dropped because its table was full (nf_conntrack_max), summed over all CPUs. Pure.
 * @param {string} text of /proc/net/stat/nf_conntrack: names, then a line of hexadecimal numbers per CPU
 */
export function trackingDrops(text) {
  const [names = [], ...rows] = text.split('\n').map((line) => line.trim().split(/\s+/))
  return rows.reduce((sum, row) => sum + (Number.parseInt(row[names.indexOf('drop')], 16) || 0), 0)
}

/** Parses two lines with the same prefix: names, then values. @param {string} file @param {string} prefix */
function pairs(file, prefix) {
  const lines = textOf(file)?.split('\n') ?? []
  const [names, values] = lines.filter((line) => line.startsWith(prefix)).map((line) => line.split(' '))
  return values ? Object.fromEntries(names.map((name, i) => [name, Number(values[i])])) : null
}

/** @returns {Record<string, number[]>} per core: user, nice, system, idle, iowait, irq, softirq, steal, in ticks (proc(5)) */
export function coreTimes() {
  const lines = (textOf('/proc/stat') ?? '').matchAll(/^cpu(\d+) (.*)$/gm)
  return Object.fromEntries([...lines].map(([, core, fields]) => [core, fields.split(' ').map(Number)]))
}

/**
 * Splits each core's time into processes (`busy`), kernel interrupts and time stolen by the host.
 * @param {Record<string, number[]>} before @param {Record<string, number[]>} now @returns {Record<string, CoreShare>}
 */
export function coreShares(before, now) {
  const rows = Object.entries(now).map(([core, ticks]) => {
    const grown = ticks.map((tick, i) => tick - (before[core]?.[i] ?? 0))
    const [user, nice, system, idle, iowait, irq, softirq, steal] = grown
    const busy = user + nice + system
    const interrupts = irq + softirq
    const all = Math.max(1, busy + idle + iowait + interrupts + steal)
    return [core, { busy_ratio: busy / all, interrupts_ratio: interrupts / all, steal_ratio: steal / all }]
  })
  return Object.fromEntries(rows)
}

/** The port of a URL, which leaves out a scheme's own. @param {string} url */
export function portOf(url) {
  const { port, protocol } = new URL(url)
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

/** Number of connections waiting to be accepted on a port: the listening socket's receive queue. @param {number} port */
function acceptQueue(port) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const own = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(listening).filter(([, local]) => local === hex)
  return Math.max(0, ...own.map(([, , , queue]) => Number.parseInt(queue, 16)))
}

/** Bytes read from a file at once: room for some listening sockets. */
const PART_BYTES = 4096

/**
 * The rows of the listening sockets, which come first: with thousands of connections, reading all would take milliseconds, on a core
 * that the load needs.
 * @param {string} file
 */
function listening(file) {
  const rows = []
  const part = Buffer.alloc(PART_BYTES)
  const fd = attempt(() => openSync(file, 'r'), null)
  if (fd === null) return []
  try {
    for (let rest = ''; ; ) {
      const length = readSync(fd, part)
      rest += part.toString('latin1', 0, length)
      const lines = rest.split('\n')
      rest = String(lines.pop())
      for (const line of lines) {
        const row = /^ *\d+: \w+:(\w{4}) \S+ (\w\w) \w+:(\w+)/.exec(line)
        if (row && row[2] !== LISTEN) return rows
        if (row) rows.push(row)
      }
      if (length === 0) return rows
    }
  } finally {
    closeSync(fd)
  }
}
