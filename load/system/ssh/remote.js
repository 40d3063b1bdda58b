import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { attempt } from '../../../sql/attempt.js'
import { RemoteError } from '../../command/errors.js'
import { killGroup, spawnLeashed } from '../processes.js'
import { explain } from './failures.js'

/** @import { Readable, Writable } from 'node:stream' */

/** Options for every ssh: ask no questions, lend nothing of ours to the host, and notice a dead connection within 15 s. */
const OPTIONS = [
  ...['BatchMode=yes', 'ConnectTimeout=10', 'ServerAliveInterval=5', 'ServerAliveCountMax=2'],
  ...['RequestTTY=no', 'RemoteCommand=none', 'ForwardAgent=no', 'ForwardX11=no'],
]

/**
 * Command line of the system's ssh, so that the user's keys, agents, jump hosts and configuration apply.
 * @param {string | null} config for `ssh -F` @param {string[]} options such as Name=value
 */
export function sshWith(config, options) {
  return ['ssh', ...(config ? ['-F', config] : []), ...[...OPTIONS, ...options].flatMap((option) => ['-o', option])]
}

/** Quotes for a POSIX shell, where that is needed. @param {string} text */
export function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** An unshared connection, which does not end with anybody else's; INFO reports the port of a forwarding. */
const SINGLE = ['ControlMaster=no', 'ControlPath=none', 'LogLevel=INFO']
/** A connection that takes orders by its control socket, forwards nothing else, and ends with us. */
const MASTER = ['ControlMaster=yes', 'ControlPersist=no', 'ClearAllForwardings=yes', 'LogLevel=INFO']

/** A host that receives nothing for this long has lost us, and stops what it runs for us. */
const SILENCE_S = 10
const BEAT_INTERVAL_MS = 2000
/** Time for a script to end by itself; then we cut the connection, which ends the script. */
const CLOSE_GRACE_MS = 300
/** Size of a chunk, which has to arrive within the silence. */
const CHUNK_BYTES = 256 * 1024

/** Prefix of the script's own lines on stderr. */
const SAYS = 'redline: '
const GREETING = 'in'
/** Other lines on stderr that explain no failure. */
const NO_REASONS = /^Warning: Permanently added|^Allocated port|^\d+m[\d.]+s \d+m[\d.]+s$/

/**
 * Starts a script on another host that ends with the connection. Its stdin carries commands, one per line, and heartbeats. When the
 * heartbeats stop, because the connection, the network or this process is gone, it kills its process group.
 * @param {string} host
 * @param {{ flag: string, config: string | null, signal: AbortSignal, more?: string[], control?: string,
 *   stdout?: number | ((line: string) => void) } & Script} options flag: that named the host; config: for `ssh -F`; signal: ends it;
 *   more: arguments of ssh; control: file of a control socket, for orders to the connection; stdout: takes what the script prints: a
 *   file, or a function that is called for each line
 * @typedef {{ setup?: string, words?: string, cleanup?: string }} Script in shell; setup: runs first; words: branches of a
 *   `case $word`, one for each command (`receive BYTES FILE` reads what follows it); cleanup: runs at the end
 * @typedef {ReturnType<typeof startRemote>} Remote
 */
export function startRemote(host, options) {
  const { flag, config, signal, more = [], control, stdout = () => {} } = options
  signal.throwIfAborted()
  const ssh = control ? [...sshWith(config, MASTER), '-S', control] : sshWith(config, SINGLE)
  const command = [...ssh, ...more, '--', host, `exec sh -c ${quoted(scriptOf(options))}`]
  const output = typeof stdout === 'number' ? stdout : 'pipe'
  const child = spawnLeashed(command, { stdio: ['pipe', output, 'pipe'], detached: true })
  const stdin = /** @type {Writable} */ (child.stdin)
  stdin.on('error', () => {})
  /** @type {Map<string, string[]>} */
  const spoken = new Map()
  /** @type {string[]} */
  const others = []
  const lines = createInterface({ input: /** @type {Readable} */ (child.stderr) })
  lines.on('line', (line) => {
    if (!line.startsWith(SAYS)) return others.push(line)
    const [word, ...rest] = line.slice(SAYS.length).split(' ')
    spoken.set(word, rest)
  })
  if (child.stdout && typeof stdout === 'function') {
    // A host that accepts the login only to turn us away says so on stdout.
    const take = (/** @type {string} */ line) => (spoken.has(GREETING) ? stdout(line) : others.push(line))
    createInterface({ input: child.stdout }).on('line', take)
  }
  const beats = setInterval(() => stdin.writableLength === 0 && stdin.write('beat\n'), BEAT_INTERVAL_MS)
  const gone = Promise.all([once(child, 'close'), once(lines, 'close')]).then(
    ([[code]]) => code,
    (error) => {
      others.push(error.message)
      return null
    },
  )
  const lost = gone.then(() => {
    const reasons = others.filter((line) => !NO_REASONS.test(line)).join('\n')
    if (!spoken.has(GREETING)) throw new RemoteError(explain(reasons, host, flag))
    const last = reasons.slice(-300).replaceAll('\n', '; ') || 'no output'
    throw new RemoteError(`the connection to ${host} was lost, or what ran there ended: ${last}`)
  })
  const abort = () => close()
  lost.catch(() => {
    clearInterval(beats)
    signal.removeEventListener('abort', abort)
  })
  signal.addEventListener('abort', abort)

  /** Ends what runs there, and cuts the connection after the grace period. */
  async function close(grace_ms = CLOSE_GRACE_MS) {
    clearInterval(beats)
    stdin.end()
    // Its whole group: a jump host is reached by another ssh, which would keep our pipes open.
    const timer = setTimeout(() => killGroup(child), grace_ms)
    await gone
    clearTimeout(timer)
  }

  /** @template T @param {() => T | null | undefined} look @returns {Promise<T>} */
  async function until(look) {
    for (;;) {
      const found = look()
      if (found) return found
      await Promise.race([once(lines, 'line'), lost])
    }
  }

  const remote = {
    /** Rejects when ssh ends, with what it said in one line. @type {Promise<never>} */
    lost,
    /** ssh's exit code. @type {Promise<number | null>} */
    gone,
    words: () => others.join('\n'),
    tell: (/** @type {string} */ word) => void stdin.write(`${word}\n`),
    /** Waits for the script's `say WORD …`; returns what follows the word. @param {string} word */
    heard: (word) => until(() => spoken.get(word)),
    /** Sends the script a word, which it answers with the same word. @param {string} word */
    ask: (word) => {
      remote.tell(word)
      return remote.heard(word)
    },
    /** Waits for a line of another program on stderr. @param {RegExp} pattern */
    line: (pattern) => until(() => others.map((line) => pattern.exec(line)).find(Boolean)),
    /** Appends to a file there, piece by piece. @param {string} name @param {Iterable<string | Buffer>} pieces */
    give: async (name, pieces) => {
      for (const bytes of chunksOf(pieces)) {
        stdin.write(`receive ${bytes.length} ${name}\n`)
        // If a write fails, `lost` rejects with the reason.
        if (!stdin.write(bytes)) await Promise.race([once(stdin, 'drain').catch(() => lost), lost])
      }
    },
    close,
  }
  return remote
}

/** Refusal of a cache in which others could plant programs; completes "expected …". @param {string[]} found the script's $foreign */
export function refusalOf(found) {
  const expected = "Redline's cache there to belong to the user that ssh logs in as, and to be writable by nobody else"
  return `${expected}, got ${found.join(' ')}: chmod go-w it, or set XDG_CACHE_HOME there`
}

/** Each word and piece of a file has to arrive within the silence: a lost network does not close a connection. @param {Script} script */
const scriptOf = ({ setup = '', words = '', cleanup = '' }) => `
say() { echo "${SAYS}$*" >&2; }
receive() { timeout ${SILENCE_S} head -c "$1" >>"$2"; }
ours() { [ -O "$1" ] && [ -z "$(find -H "$1" -prune \\( -perm -020 -o -perm -002 \\))" ]; }
cache="\${XDG_CACHE_HOME:-$HOME/.cache}/redline"
if [ -e "$cache" ] && ! ours "$cache"; then foreign=$(ls -ld "$cache"); else foreign=; fi
say ${GREETING}
umask 077
PATH="$PATH:/usr/local/bin:$HOME/.local/bin"
${setup}
while word=$(timeout ${SILENCE_S} sh -c 'IFS= read -r word && echo "$word"'); do
  set -- $word
  case $word in
    receive\\ *) receive "$2" "$3" ;;
    ${words}
  esac || break
done
${cleanup}
kill -KILL 0
`

/** @param {Iterable<string | Buffer>} pieces */
function* chunksOf(pieces) {
  /** @type {Buffer[]} */
  let waiting = []
  let bytes = 0
  for (const piece of pieces) {
    const buffer = Buffer.from(piece)
    for (let from = 0; from < buffer.length; from += CHUNK_BYTES) {
      const part = buffer.subarray(from, from + CHUNK_BYTES)
      waiting.push(part)
      bytes += part.length
      if (bytes < CHUNK_BYTES) continue
      yield Buffer.concat(waiting)
      waiting = []
      bytes = 0
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

/** Parses a line of JSON; null: output of a shell, or a truncated line. @param {string} line @returns {any} */
export function parsed(line) {
  return attempt(() => JSON.parse(line), null)
}
