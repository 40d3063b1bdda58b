import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { leashed } from '../../../sql/leash.js'
import { expandCores } from '../../system/machine.js'

/**
 * @import { Dose, Slice } from '../../report/record.js'
 * @import { Dosable } from './suspects.js'
 */

const HELPER = fileURLToPath(new URL('helper.js', import.meta.url))
/** Short against a request's time in the service, and long against the cost of a period: about 10 us of wake-ups and signals. */
const PERIOD_MS = { core: 2, processes: 5 }
const STOP_GRACE_MS = 500

/**
 * Starts a helper for each suspect, which takes doses as long as this process lives.
 * @param {Dosable[]} suspects @param {AbortSignal} signal
 * @returns {Promise<{ run: (slices: Slice[], duration_s: number) => Promise<Dose[]>, close: () => Promise<void> }>} run: divides the
 *   duration into the slices, takes each one's dose, and returns what was really taken
 */
export async function openDosing(suspects, signal) {
  const helpers = new Map(suspects.map((suspect) => [suspect.name, helpersOf(suspect)]))
  const all = [...helpers.values()].flat()
  await Promise.all(all.map(({ ready }) => ready))

  return {
    async run(slices, duration_s) {
      const first_ms = performance.now()
      const slice_ms = (duration_s * 1000) / slices.length
      const doses = []
      for (const [i, slice] of slices.entries()) {
        const { suspect, share } = slice
        const own = helpers.get(suspect) ?? []
        const from_ms = epoch_ms()
        for (const { begin } of share > 0 ? own : []) begin(share)
        await setTimeout(first_ms + (i + 1) * slice_ms - performance.now(), undefined, { signal })
        const to_ms = epoch_ms()
        const taken = share > 0 ? await Promise.all(own.map(({ end }) => end())) : []
        const taken_ratio =
          taken.reduce((sum, one) => sum + one.taken_ms / one.lasted_ms, 0) / Math.max(1, taken.length)
        doses.push({ ...slice, taken_ratio, from_ms, to_ms })
      }
      return doses
    },
    close: async () => void (await Promise.all(all.map(({ close }) => close()))),
  }
}

/** By the clock that processes share. */
function epoch_ms() {
  return performance.timeOrigin + performance.now()
}

/** One helper stops all processes; each core has a helper of its own. @param {Dosable} suspect */
function helpersOf(suspect) {
  const first = canHavePriority() ? ['chrt', '--fifo', '50'] : []
  // Without a process that we may stop, no dose is taken.
  if ('pids' in suspect && suspect.pids.length === 0) return []
  if ('pids' in suspect) return [startHelper(first, { pids: suspect.pids, period_ms: PERIOD_MS.processes })]
  return expandCores(suspect.cores).map((core) =>
    startHelper([...first, 'taskset', '-c', String(core)], { pids: null, period_ms: PERIOD_MS.core }),
  )
}

/** Without real-time priority, the kernel's scheduler lets a process that mostly sleeps go first most of the time. */
function canHavePriority() {
  return spawnSync('chrt', ['--fifo', '50', 'true']).status === 0
}

/** @param {string[]} prefix @param {{ pids: number[] | null, period_ms: number }} how */
function startHelper(prefix, { pids, period_ms }) {
  const [program, ...args] = leashed([...prefix, process.execPath, HELPER], { signal: 'INT' })
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const exited = once(child, 'exit')
  const replies = createInterface(child.stdout)[Symbol.asyncIterator]()
  // A helper that is killed at the wrong moment leaves processes stopped.
  const release = () => pids?.forEach(letGo)
  exited.then(release, release)
  child.stdin.on('error', () => {})
  const say = (/** @type {object} */ command) => void child.stdin.write(`${JSON.stringify(command)}\n`)
  return {
    ready: once(child, 'spawn'),
    begin: (/** @type {number} */ share) => say({ share, period_ms, pids }),
    /** @returns {Promise<{ taken_ms: number, lasted_ms: number }>} */
    async end() {
      say({ share: 0 })
      const { value, done } = await replies.next()
      if (done)
        throw new Error(`the process that takes the dose ended (${child.signalCode ?? `code ${child.exitCode}`})`)
      return JSON.parse(value)
    },
    async close() {
      child.stdin.end()
      await Promise.race([exited, setTimeout(STOP_GRACE_MS, undefined, { ref: false })])
      child.kill('SIGKILL')
    },
  }
}

/** @param {number} pid */
function letGo(pid) {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {
    // It has ended.
  }
}
