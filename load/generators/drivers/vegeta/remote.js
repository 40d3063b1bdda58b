import fs from 'node:fs/promises'
import path from 'node:path'
import { RemoteError } from '../../../command/errors.js'
import { quoted, startRemote } from '../../../system/ssh/remote.js'

/**
 * @import { Remote } from '../../../system/ssh/remote.js'
 * @import { LoadHost } from '../../hosts/prepare.js'
 * @import { Attack } from './attack.js'
 */

/** Targets and results are in files without a name, which go with the last process that has them open. */
const SETUP = `
targets=$(mktemp) && exec 4>"$targets" 5<"$targets" && rm "$targets" || exit 1
results=$(mktemp) && exec 6>"$results" 7<"$results" && rm "$results" || exit 1
`

/**
 * `times` tells the CPU of vegeta, the subshell's only child that counts. Results leave when the load is over.
 *
 * @param {string} program @param {string[]} args
 */
function words(program, args) {
  const command = [program, ...args].map(quoted).join(' ')
  return `
ready) say ready ;;
attack) (
  say told $(date +%s%N)
  ${command} <&5 >&6 4>&- 7<&-
  code=$?
  times >&2
  say ended $code
) & ;;
results) ( cat <&7; say sent $? $(wc -c </dev/fd/7) ) & ;;
done) exit 0 ;;
`
}

/**
 * An attack from another host, which has all its targets before it begins.
 *
 * @param {LoadHost} place
 * @param {string[]} args
 * @param {Iterable<string>} lines targets
 * @param {{ config: string | null, output: string, signal: AbortSignal }} options
 * @returns {Attack}
 */
export function remoteAttack({ host, program }, args, lines, { config, output, signal }) {
  /** @type {Remote | null} */
  let remote = null
  const cut = () => void remote?.close()
  const told = async () => {
    if (!remote) throw new Error(`${host}: expected to be connected`)
    signal.throwIfAborted()
    return remote
  }
  return {
    async ready() {
      const file = await fs.open(output, 'w', 0o600)
      try {
        remote = startRemote(host, { config, setup: SETUP, words: words(program, args), stdout: file.fd })
      } finally {
        await file.close()
      }
      signal.addEventListener('abort', cut)
      await remote.give('/dev/fd/4', lines)
      remote.tell('ready')
      await remote.heard('ready')
    },

    async run() {
      const own = await told()
      const asked_ms = performance.now()
      own.tell('attack')
      const [told_ns] = await own.heard('told')
      const word_ms = Number((performance.now() - asked_ms).toFixed(1))
      const [code] = await own.heard('ended')
      const failed = `${host}: vegeta attack ended with code ${code}: ${own.words().slice(-300)}`
      if (code !== '0') throw new RemoteError(failed)
      return { told_ns: /^\d+$/.test(told_ns) ? BigInt(told_ns) : null, word_ms, cpu_s: childrenCpu_s(own.words()) }
    },

    async results() {
      const own = await told()
      own.tell('results')
      const [failed, bytes] = await own.heard('sent')
      own.tell('done')
      const code = await own.gone
      if (code !== 0) await own.lost
      // ssh does not say that it could not write, and of several files vegeta does not say that one breaks off.
      const { size } = await fs.stat(output)
      if (failed === '0' && size === Number(bytes)) return output
      throw new RemoteError(
        `${host}: expected ${bytes} bytes of results, got ${size}: is there room in ${path.dirname(output)}?`,
      )
    },

    async close() {
      signal.removeEventListener('abort', cut)
      await remote?.close()
    },
  }
}

/** By the second line of a shell's `times`: user and system of its children. @param {string} words */
function childrenCpu_s(words) {
  const found = [...words.matchAll(/^(\d+)m([\d.]+)s (\d+)m([\d.]+)s$/gm)].at(-1)
  if (!found) return null
  const [user_m, user_s, system_m, system_s] = found.slice(1).map(Number)
  return (user_m + system_m) * 60 + user_s + system_s
}
