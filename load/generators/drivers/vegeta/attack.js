import { once } from 'node:events'
import fs from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { withoutProxies } from '../../../command/environment.js'
import { RemoteError } from '../../../command/errors.js'
import { collect, spawnLeashed } from '../../../system/processes.js'
import { quoted, startRemote } from '../../../system/ssh/remote.js'

/**
 * @import { LoadHost } from '../../hosts/prepare.js'
 * @import { Load } from '../index.js'
 * @import { ChildProcess } from 'node:child_process'
 * @import { Writable } from 'node:stream'
 */

/**
 * Splits a load among hosts or addresses: part i mod n sends request i, so that together they send what one vegeta would
 * send, at the same times.
 * @param {Load} load
 * @typedef {ReturnType<typeof partsOf>[number]} Part address: local address of its connections; host: null for this machine
 */
export function partsOf({ load_hosts, local_addresses }) {
  const addresses = local_addresses ?? [null]
  const places = (load_hosts ?? [null]).flatMap((host) => addresses.map((address) => ({ host, address })))
  return places.map((place, index) => ({ ...place, index, of: places.length }))
}

/** Number of items out of `total` for a part, which gets every n-th one. @param {Part} part @param {number} total */
export function shareOf({ index, of }, total) {
  return Math.max(0, Math.ceil((total - index) / of))
}

/**
 * Prepares the attack of a part as far as possible before it starts.
 * @param {string} program on this machine @param {Load} load @param {Part} part @param {Iterable<string>} lines targets
 * @param {{ folder: string, duration_s: number, signal: AbortSignal }} options
 * @typedef {{ command: string[], config: string | null, lines: Iterable<string>, output: string, signal: AbortSignal }} Order
 * @typedef {Awaited<ReturnType<typeof prepareAttack>>} Attack
 * @typedef {Awaited<ReturnType<Attack['run']>>} Ran
 */
export async function prepareAttack(program, load, part, lines, { folder, duration_s, signal }) {
  const output = path.join(folder, `results-${part.index}.bin`)
  const { rate_rps, unbounded = false, fresh_connections = false, timeout_s, ssh_config = null } = load
  const bounds = unbounded ? [] : ['-workers', '-max-workers', '-connections', '-max-connections']
  const args = [
    // The name distinguishes the parts' results.
    ...['attack', `-name=${part.index}`, '-format=json', '-lazy', '-max-body=0', '-redirects=-1', '-http2=false'],
    ...bounds.map((flag) => `${flag}=${shareOf(part, load.connections)}`),
    // The attack stops when its targets run out: stopping by time would drop the last requests whenever vegeta wakes a little late.
    ...[`-rate=${rate_rps}/${part.of}s`, `-duration=${duration_s + timeout_s}s`, `-timeout=${timeout_s}s`],
    ...[`-keepalive=${!fresh_connections}`, ...(part.address === null ? [] : [`-laddr=${part.address}`])],
  ]
  const order = { command: [part.host?.program ?? program, ...args], config: ssh_config, lines, output, signal }
  return { part, ...(part.host ? await remoteAttack(part.host.host, order) : await localAttack(order)) }
}

/** Attacks from this machine; vegeta reads its targets while it sends. @param {Order} order @returns {ReturnType<typeof remoteAttack>} */
async function localAttack({ command, lines, output, signal }) {
  /** @type {ChildProcess | null} */
  let child = null
  // The results contain URLs, and vegeta itself would make the file world-readable.
  await fs.writeFile(output, '', { mode: 0o600 })
  return {
    run: async () => {
      const stdio = /** @type {any} */ (['pipe', 'ignore', 'pipe'])
      // vegeta would send its requests to a proxy that is named there; our own drivers do not.
      const env = withoutProxies()
      child = spawnLeashed([...command, `-output=${output}`], { stdio, env, signal, killSignal: 'SIGKILL' })
      const words = collect(child.stderr)
      // If the duration expires first, vegeta stops reading: targets that it has not read were not sent.
      const fed = pipeline(Readable.from(lines), /** @type {Writable} */ (child.stdin)).catch(() => {})
      const [code] = await once(child, 'exit', { signal })
      await fed
      if (code !== 0) throw new Error(`vegeta attack ended with code ${code}: ${words().trim()}`)
      return { told_ns: null, word_ms: null, cpu_s: null }
    },
    results: async () => output,
    close: async () => void child?.kill('SIGKILL'),
  }
}

/** Targets and results are in unlinked files, which vanish with the last process that has them open. */
const SETUP = `
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
targets=$(mktemp) && exec 4>"$targets" 5<"$targets" && rm "$targets" || exit 1
results=$(mktemp) && exec 6>"$results" 7<"$results" && rm "$results" || exit 1
`

/** `times` prints the CPU time of vegeta, the subshell's only significant child. @param {string} command */
const wordsFor = (command) => `
ready) say ready ;;
attack) (
  say attack $(date +%s%N)
  ${command} <&5 >&6 4>&- 7<&-
  code=$?
  times >&2
  say ended $code
) & ;;
results) ( cat <&7; say results $? $(wc -c </dev/fd/7) ) & ;;
done) exit 0 ;;
`

/** Attacks from another host, which receives all its targets before it starts. @param {string} host @param {Order} order */
async function remoteAttack(host, { command, config, lines, output, signal }) {
  const file = await fs.open(output, 'w', 0o600)
  const scripts = { setup: SETUP, words: wordsFor(command.map(quoted).join(' ')) }
  const remote = startRemote(host, { flag: '--load-hosts', config, signal, ...scripts, stdout: file.fd })
  await file.close()
  try {
    await remote.give('/dev/fd/4', lines)
    await remote.ask('ready')
  } catch (error) {
    await remote.close()
    throw error
  }
  return {
    async run() {
      const asked_ms = performance.now()
      const [told_ns] = await remote.ask('attack')
      const word_ms = Number((performance.now() - asked_ms).toFixed(1))
      const [code] = await remote.heard('ended')
      const words = remote.words()
      if (code !== '0') throw new RemoteError(`${host}: vegeta attack ended with code ${code}: ${words.slice(-300)}`)
      return {
        /** Time of the start command by the host's own clock; null for this machine. */
        told_ns: /^\d+$/.test(told_ns) ? BigInt(told_ns) : null,
        /** Round trip of the start command, by our clock. */
        word_ms: /** @type {number | null} */ (word_ms),
        cpu_s: childrenCpu_s(words),
      }
    },

    /** Fetches the results, and returns their file. */
    async results() {
      const [failed, bytes] = await remote.ask('results')
      remote.tell('done')
      if ((await remote.gone) !== 0) await remote.lost
      // ssh does not report a failed write, nor does vegeta report that one of several files is truncated.
      const { size } = await fs.stat(output)
      const printed = size - Number(bytes)
      // Some logins print something first.
      if (failed === '0' && printed > 0) await fs.writeFile(output, (await fs.readFile(output)).subarray(printed))
      if (failed === '0' && printed >= 0) return output
      const place = path.dirname(output)
      throw new RemoteError(`${host}: expected ${bytes} bytes of results, got ${size}: is there room in ${place}?`)
    },
    close: remote.close,
  }
}

/** CPU time from the second line of a shell's `times`: user and system of its children. @param {string} words */
function childrenCpu_s(words) {
  const found = [...words.matchAll(/^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$/gm)].at(-1)
  if (!found) return null
  const [user_m, user_s, system_m, system_s] = found.slice(1).map(Number)
  return (user_m + system_m) * 60 + user_s + system_s
}
