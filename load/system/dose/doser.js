import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { leashed } from '../../../sql/leash.js'
import { sendSignal } from '../../../sql/signals.js'
import { expandCores } from '../machine.js'

const HELPER = fileURLToPath(new URL('helper.js', import.meta.url))
/** Short compared with a request's time in the service, long compared with a period's overhead: about 10 us of wake-ups and signals. */
const PERIOD_MS = { core: 2, processes: 5 }
const STOP_GRACE_MS = 500
/** An idle V8 polls for its marking threads, which never run on a core where the polling thread has real-time priority. */
const NODE_FLAGS = ['--single-threaded']

/**
 * Starts the helpers that slow one suspect on this machine; none of them outlives this process.
 * @param {Slowable} suspect
 * @returns {Promise<Doser>}
 * @typedef {{ cores: string } | { pids: number[] }} Slowable cores: list such as "0" or "1-3"
 * @typedef {{ begin: (share: number) => Promise<void> | void, end: () => Promise<number>, close: () => Promise<void> }} Doser begin:
 *   takes a share of the suspect's time; end: stops the dose, and returns the share actually taken
 */
export async function startDoser(suspect) {
  const helpers = helpersOf(suspect)
  await Promise.all(helpers.map(({ ready }) => ready))
  return {
    begin(share) {
      for (const { begin } of helpers) begin(share)
    },
    async end() {
      const taken = await Promise.all(helpers.map(({ end }) => end()))
      return taken.reduce((sum, one) => sum + one.taken_ms / one.lasted_ms, 0) / Math.max(1, taken.length)
    },
    close: async () => void (await Promise.all(helpers.map(({ close }) => close()))),
  }
}

/** One helper stops all processes; each core has a helper of its own. @param {Slowable} suspect */
function helpersOf(suspect) {
  // Without real-time priority, the scheduler favours a mostly sleeping process only most of the time.
  const first = spawnSync('chrt', ['--fifo', '50', 'true']).status === 0 ? ['chrt', '--fifo', '50'] : []
  // No process that we may stop: no dose is taken.
  if ('pids' in suspect && suspect.pids.length === 0) return []
  if ('pids' in suspect) return [startTaking(first, { pids: suspect.pids, period_ms: PERIOD_MS.processes })]
  return expandCores(suspect.cores).map((core) =>
    startTaking([...first, 'taskset', '-c', String(core)], { pids: null, period_ms: PERIOD_MS.core }),
  )
}

/** @param {string[]} prefix @param {{ pids: number[] | null, period_ms: number }} how */
function startTaking(prefix, how) {
  const command = [...prefix, process.execPath, ...NODE_FLAGS, HELPER]
  const letGo = () => {
    for (const pid of how.pids ?? []) sendSignal(pid, 'SIGCONT')
  }
  const { say, ask, ...helper } = startHelper(command, letGo)
  return {
    ...helper,
    begin: (/** @type {number} */ share) => say({ share, ...how }),
    end: () => /** @type {Promise<{ taken_ms: number, lasted_ms: number }>} */ (ask({ share: 0 })),
  }
}

/**
 * Starts a helper that never outlives this process. It reads commands and writes answers, each a line of JSON.
 * @param {string[]} command @param {() => void | Promise<void>} release undoes what a helper killed at the wrong moment left
 */
export function startHelper(command, release) {
  const [program, ...args] = leashed(command, { signal: 'INT' })
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const exited = once(child, 'exit')
  const replies = createInterface(child.stdout)[Symbol.asyncIterator]()
  const released = exited.then(release, release)
  // Awaited in close().
  released.catch(() => {})
  child.stdin.on('error', () => {})
  const ready = once(child, 'spawn')
  // Not everybody waits for it.
  ready.catch(() => {})
  const say = (/** @type {object} */ line) => void child.stdin.write(`${JSON.stringify(line)}\n`)
  return {
    ready,
    say,
    /** Returns the answer. @param {object} line */
    async ask(line) {
      say(line)
      const { value, done } = await replies.next()
      if (!done) return JSON.parse(value)
      await exited
      throw new Error(`the process that takes the dose ended (${child.signalCode ?? `code ${child.exitCode}`})`)
    },
    async close() {
      child.stdin.end()
      await Promise.race([exited, setTimeout(STOP_GRACE_MS, undefined, { ref: false })])
      child.kill('SIGKILL')
      await released
    },
  }
}
