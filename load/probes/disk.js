import { existsSync } from 'node:fs'
import { textOf } from '../system/machine.js'

/** The unit of /proc/diskstats, whatever the disk's own sector size (Documentation/admin-guide/iostats.rst). */
const SECTOR_BYTES = 512

/** Devices that are not disks, or that are built on disks already counted. */
const NO_DISK = /^(loop|ram|zram|dm-|md|sr|fd|nbd)/

/** Watches all disks together. The returned function gives their use since then; null without /proc/diskstats. */
export function watchDisks() {
  const started_ms = performance.now()
  const before = readDisks()
  return () => {
    const now = readDisks()
    return before && now && diskUse(before, now, performance.now() - started_ms)
  }
}

function readDisks() {
  const text = textOf('/proc/diskstats')
  // Count whole disks only: a partition has no queue of its own.
  return text === null ? null : parseDisks(text, (name) => existsSync(`/sys/block/${name.replaceAll('/', '!')}`))
}

/**
 * Disk use between two readings. `busy_ratio` is the share of time in which the busiest disk was active, and `flush_ratio` the share in
 * which the disk that flushed longest emptied its cache; the kernel does not count flushes as activity. Pure.
 * @param {Record<string, Disk>} before @param {Record<string, Disk>} now @param {number} wall_ms
 */
export function diskUse(before, now, wall_ms) {
  const grown = (/** @type {keyof Disk} */ field) => {
    return Object.entries(now).map(([name, disk]) => disk[field] - (before[name] ?? disk)[field])
  }
  const sum = (/** @type {number[]} */ numbers) => numbers.reduce((all, one) => all + one, 0)
  return {
    read_bytes: sum(grown('read_bytes')),
    written_bytes: sum(grown('written_bytes')),
    busy_ratio: Math.min(1, Math.max(0, ...grown('busy_ms')) / wall_ms),
    flushes: sum(grown('flushes')),
    flush_ratio: Math.min(1, Math.max(0, ...grown('flush_ms')) / wall_ms),
  }
}

/**
 * Parses the counters of whole disks, by name.
 * @param {string} text of /proc/diskstats @param {(name: string) => boolean} isWhole @returns {Record<string, Disk>}
 * @typedef {{ read_bytes: number, written_bytes: number, busy_ms: number, flushes: number, flush_ms: number }} Disk
 */
export function parseDisks(text, isWhole) {
  const disks = text.split('\n').flatMap((line) => {
    const [, , name, ...fields] = line.trim().split(/\s+/)
    const counters = fields.map(Number)
    const [, , sectorsRead, , , , sectorsWritten, , , busy_ms] = counters
    // Linux before 5.5 does not count flushes.
    const [flushes = 0, flush_ms = 0] = counters.slice(15)
    const bytes = { read_bytes: sectorsRead * SECTOR_BYTES, written_bytes: sectorsWritten * SECTOR_BYTES }
    const disk = { ...bytes, busy_ms, flushes, flush_ms }
    return name && !NO_DISK.test(name) && isWhole(name) ? [[name, disk]] : []
  })
  return Object.fromEntries(disks)
}
