import { createInterface } from 'node:readline'
import { sendSignal } from '../../../sql/signals.js'
import { cpu_us } from '../cpu.js'

/**
 * Process that takes a dose, in short periods: it burns a share of its core's time, or stops other processes for a share of the
 * time. It is separate from the lab, since it blocks, may need real-time priority, and must let go when the lab dies.
 *
 * Each line of stdin is a command: { share, period_ms, pids } begins a dose, { share: 0 } ends it. pids: processes to stop; null: burn.
 * When a dose ends, a line of stdout reports, in milliseconds, the time that it took and its length.
 */

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** @typedef {{ share: number, period_ms: number, pids: number[] | null }} Taking @type {Taking | null} */
let dose = null
let began_ms = 0
let taken_ms = 0
let spent_us = 0

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => process.exit())
process.on('exit', () => signalAll('SIGCONT'))

createInterface(process.stdin)
  .on('line', (line) => {
    const next = JSON.parse(line)
    if (next.share > 0) begin(next)
    else end()
  })
  .on('close', () => process.exit())

/** @param {Taking} next */
function begin(next) {
  dose = next
  began_ms = performance.now()
  taken_ms = 0
  spent_us = cpu_us()
  period()
}

function end() {
  if (dose?.pids === null) taken_ms = (cpu_us() - spent_us) / 1000
  const lasted_ms = performance.now() - began_ms
  dose = null
  process.stdout.write(`${JSON.stringify({ taken_ms, lasted_ms })}\n`)
}

/** Takes the dose's share of one period, rests, and lets the event loop read a command. */
function period() {
  if (!dose) return
  const start_ms = performance.now()
  const take_ms = dose.share * dose.period_ms
  if (dose.pids === null) {
    while (performance.now() < start_ms + take_ms);
  } else {
    signalAll('SIGSTOP')
    rest(take_ms)
    signalAll('SIGCONT')
    taken_ms += performance.now() - start_ms
  }
  // Rests even after a late take: with real-time priority, a helper that never rests would monopolize its core.
  rest(dose.period_ms - take_ms)
  setImmediate(period)
}

/** @param {number} ms */
function rest(ms) {
  if (ms > 0) Atomics.wait(sleeper, 0, 0, ms)
}

/** @param {'SIGSTOP' | 'SIGCONT'} name */
function signalAll(name) {
  for (const pid of dose?.pids ?? []) sendSignal(pid, name)
}
