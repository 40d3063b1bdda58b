import { once } from 'node:events'
import fs from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { collect, spawnLeashed } from '../../../system/processes.js'

/**
 * @import { LoadHost } from '../../hosts/prepare.js'
 * @import { Load } from '../index.js'
 * @import { ChildProcess } from 'node:child_process'
 * @import { Writable } from 'node:stream'
 */

/**
 * What one vegeta does of a load that several share: request i is that of part i mod n, so that together they send what
 * one would have sent, when it would have sent it.
 *
 * @typedef {object} Part
 * @property {number} index from 0
 * @property {number} of so many
 * @property {string | null} address local one that its connections come from
 * @property {LoadHost | null} host null: this machine
 */

/** @param {Load} load @returns {Part[]} one, unless the load comes from several hosts or addresses */
export function partsOf({ load_hosts, local_addresses }) {
  const hosts = load_hosts ?? [null]
  const addresses = local_addresses ?? [null]
  const places = hosts.flatMap((host) => addresses.map((address) => ({ host, address })))
  return places.map((place, index) => ({ ...place, index, of: places.length }))
}

/** How many of so many things a part gets: every n-th, from its own on. @param {Part} part @param {number} total */
export function shareOf({ index, of }, total) {
  return Math.max(0, Math.ceil((total - index) / of))
}

/**
 * @param {Load} load
 * @param {Part} part
 * @param {number} duration_s
 * @returns {string[]} arguments of vegeta, but for where targets come from and results go
 */
export function attackArguments(load, part, duration_s) {
  const { rate_rps, unbounded = false, fresh_connections = false, timeout_s } = load
  const connections = shareOf(part, load.connections)
  const bounds = unbounded ? [] : ['-workers', '-max-workers', '-connections', '-max-connections']
  return [
    // The name tells its results from those of the others.
    ...['attack', `-name=${part.index}`, '-format=json', '-lazy', '-max-body=0', '-redirects=-1', '-http2=false'],
    `-keepalive=${!fresh_connections}`,
    ...bounds.map((flag) => `${flag}=${connections}`),
    // The attack ends with its targets. Ended by time, it drops the last requests whenever it wakes a little late.
    ...[`-rate=${rate_rps}/${part.of}s`, `-duration=${duration_s + timeout_s}s`, `-timeout=${timeout_s}s`],
    ...(part.address === null ? [] : [`-laddr=${part.address}`]),
  ]
}

/**
 * An attack from this machine. It reads its targets while it sends.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {Iterable<string>} lines targets
 * @param {{ output: string, signal: AbortSignal }} options output: file for the results
 * @returns {Attack}
 */
export function localAttack(program, args, lines, { output, signal }) {
  /** @type {ChildProcess | null} */
  let child = null
  return {
    // vegeta writes the URL of each request into its results, and would let everybody read them.
    ready: () => fs.writeFile(output, '', { mode: 0o600 }),
    run: async () => {
      const stdio = /** @type {any} */ (['pipe', 'ignore', 'pipe'])
      child = spawnLeashed([program, ...args, `-output=${output}`], { stdio, signal, killSignal: 'SIGKILL' })
      const words = collect(child.stderr)
      // Should its duration end it, it stops reading; what it has not read was not sent.
      const stdin = /** @type {Writable} */ (child.stdin)
      const fed = pipeline(Readable.from(lines), stdin).catch(() => {})
      const [code] = await once(child, 'exit', { signal })
      await fed
      if (code !== 0) throw new Error(`vegeta attack ended with code ${code}: ${words().trim()}`)
      return { told_ns: null, word_ms: null, cpu_s: null }
    },
    results: async () => output,
    close: async () => void child?.kill('SIGKILL'),
  }
}

/**
 * @typedef {object} Attack
 * @property {() => Promise<void>} ready all that can be done before it begins is done
 * @property {() => Promise<Ran>} run to its last answer
 * @property {() => Promise<string>} results file with them
 * @property {() => Promise<void>} close ends it, where it still runs
 *
 * @typedef {object} Ran what a host tells of it
 * @property {bigint | null} told_ns when it was told to begin, by its own clock; null where it is not another host
 * @property {number | null} word_ms from our word to its answer that it has it, by our clock
 * @property {number | null} cpu_s of vegeta there
 */
