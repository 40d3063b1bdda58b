import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { UsageError } from '../flags.js'
import { createMix } from '../mix.js'
import { sideOfText, TIMEOUT, UNSENT } from './errors.js'
import { Recorder } from './recorder.js'
import { refuseEntries } from './refuse.js'
import { constantRate } from './schedule.js'

const BUILT = fileURLToPath(new URL('vegeta/bin/vegeta', import.meta.url))
const run = promisify(execFile)

/** timestamp ns, code, latency ns, bytes out, bytes in, error, body, attack, seq: what `vegeta encode -to csv` writes. */
const CSV_ROW = /^(\d+),(\d+),(\d+),\d+,\d+,("(?:[^"]|"")*"|[^,]*),[^,]*,[^,]*,(\d+),/

/** A worker's word for "the list is at its end", which vegeta counts as a result. */
const NO_TARGETS = 'no targets to attack'

/**
 * Open loop by vegeta, with as many workers and connections as the load has connections: with its own defaults, which
 * `unbounded` leaves, it opens sockets without bound as soon as latency rises, and measures that. Its latency starts when a worker takes a request
 * up; here it is counted from the time at which the schedule wanted it.
 *
 * @type {import('./index.js').Driver}
 */
export const vegeta = {
  name: 'vegeta',
  loop: 'open',
  version: async () => (await run(binary(), ['-version'])).stdout.match(/^Version: (\S+)/m)?.[1] ?? 'unknown',

  check(asked) {
    refuseEntries('vegeta', asked)
    binary()
  },

  async open(load) {
    const program = binary()
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'redline-vegeta-'))
    const mix = createMix(load.mix, load.trial)
    let requests = 0
    return {
      async run(phase) {
        const schedule = constantRate(/** @type {number} */ (load.rate_rps), phase.duration_s)
        const results = path.join(folder, 'results.bin')
        await attack(program, load, phase, targets(load.url, mix, requests, schedule.total), results)
        phase.onEnd()
        requests += schedule.total
        return summarise(await hitsOf(program, results, phase.signal), schedule, load, phase)
      },
      close: () => fs.rm(folder, { recursive: true, force: true }),
    }
  },
}

/** @returns {string} the program: the one built here, else the one on PATH */
function binary() {
  if (existsSync(BUILT)) return BUILT
  if (spawnSync('vegeta', ['-version']).status === 0) return 'vegeta'
  throw new UsageError(
    '--driver: expected vegeta on PATH or built by `npm run vegeta` (needs Go 1.22 or newer), found neither',
  )
}

/** One JSON target a line. @param {string} url @param {import('../mix.js').Mix} mix @param {number} first @param {number} count */
function* targets(url, mix, first, count) {
  /** @type {Record<string, string[]>} */
  const header = {}
  for (const [name, value] of mix.headers) header[name] = [...(header[name] ?? []), value]
  for (let i = first; i < first + count; i++) {
    const body = base64(mix.body(i))
    yield `${JSON.stringify({ method: mix.method, url, header, body })}\n`
  }
}

/** @param {string | Buffer} body a string is one byte a character */
function base64(body) {
  return (typeof body === 'string' ? Buffer.from(body, 'latin1') : body).toString('base64')
}

/**
 * @param {string} program
 * @param {import('./index.js').Load} load
 * @param {import('./index.js').Phase} phase
 * @param {Iterable<string>} lines targets
 * @param {string} output file for the results
 */
async function attack(program, load, { duration_s, signal }, lines, output) {
  const { rate_rps, connections, unbounded = false, fresh_connections = false, timeout_s } = load
  const bounds = unbounded ? [] : ['-workers', '-max-workers', '-connections', '-max-connections']
  const bound = bounds.map((flag) => `${flag}=${connections}`)
  // The attack ends with its targets. Ended by time, it drops the last requests whenever it wakes a little late.
  const time = [`-rate=${rate_rps}/1s`, `-duration=${duration_s + timeout_s}s`, `-timeout=${timeout_s}s`]
  const args = [
    'attack',
    '-format=json',
    '-lazy',
    '-max-body=0',
    '-redirects=-1',
    '-http2=false',
    `-keepalive=${!fresh_connections}`,
    ...bound,
    ...time,
    `-output=${output}`,
  ]
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'], signal, killSignal: 'SIGKILL' })
  let words = ''
  child.stderr.on('data', (chunk) => {
    words += chunk
  })
  // Should the bound above end it, it stops reading; what it has not read was not sent.
  const fed = pipeline(Readable.from(lines), child.stdin).catch(() => {})
  const [code] = await once(child, 'exit', { signal })
  await fed
  if (code !== 0) throw new Error(`vegeta attack ended with code ${code}: ${words.trim()}`)
}

/**
 * @typedef {object} Hit times in ms; begin since the start of the schedule
 * @property {number} seq
 * @property {number} begin_ms
 * @property {number} latency_ms as vegeta counts it
 * @property {number} status 0 without an answer
 * @property {string} error
 */

/**
 * @param {string} program
 * @param {string} results
 * @param {AbortSignal} signal
 * @returns {Promise<Hit[]>} in the order of begin
 */
async function hitsOf(program, results, signal) {
  const child = spawn(program, ['encode', '-to=csv', results], { stdio: ['ignore', 'pipe', 'inherit'], signal })
  child.on('error', () => {})
  /** @type {Hit[]} */
  const hits = []
  let base = 0n
  for await (const line of createInterface({ input: child.stdout })) {
    const match = CSV_ROW.exec(line)
    if (!match) throw new Error(`expected a row of vegeta's CSV, got ${JSON.stringify(line.slice(0, 200))}`)
    const [, timestamp_ns, status, latency_ns, error, seq] = match
    if (error === NO_TARGETS) continue
    if (base === 0n) base = BigInt(timestamp_ns)
    const begin_ms = Number(BigInt(timestamp_ns) - base) / 1e6
    hits.push({ seq: Number(seq), begin_ms, latency_ms: Number(latency_ns) / 1e6, status: Number(status), error })
  }
  signal.throwIfAborted()
  return hits.sort((a, b) => a.begin_ms - b.begin_ms)
}

/**
 * @param {Hit[]} hits
 * @param {ReturnType<typeof constantRate>} schedule
 * @param {import('./index.js').Load} load
 * @param {import('./index.js').Phase} phase
 */
function summarise(hits, schedule, { connections, unbounded }, { duration_s }) {
  const recorder = new Recorder()
  // vegeta does not tell when it started: the earliest start that makes no request early is the best there is.
  const start_ms = hits.reduce((least, hit) => Math.min(least, hit.begin_ms - schedule.dueAt_ms(hit.seq)), 0)
  const busy = busyWorkers(hits)
  hits.forEach((hit, i) => {
    const slip_ms = hit.begin_ms - start_ms - schedule.dueAt_ms(hit.seq)
    // With all workers waiting for answers, a late start is the target's doing; with one free, it is vegeta's.
    recorder.late(busy[i] >= connections && !unbounded ? 0 : slip_ms)
    recorder.sent++
    recorder.queued(slip_ms)
    const latency_ms = slip_ms + hit.latency_ms
    if (hit.status > 0) recorder.answer(hit.status, latency_ms, hit.begin_ms - start_ms + hit.latency_ms)
    else recordError(recorder, hit.error, latency_ms)
  })
  for (let unsent = schedule.total - hits.length; unsent > 0; unsent--) recorder.error(UNSENT)
  return recorder.summary(schedule.total, duration_s)
}

/** @param {Recorder} recorder @param {string} text @param {number} latency_ms */
function recordError(recorder, text, latency_ms) {
  const side = sideOfText(text)
  recorder.error(side, side === TIMEOUT ? latency_ms : undefined)
}

/**
 * How many workers were busy when each hit began, itself included. A worker that takes the next request at once counts
 * as busy throughout, hence the tolerance.
 *
 * @param {Hit[]} hits in the order of begin
 * @returns {number[]}
 */
function busyWorkers(hits) {
  const HANDOVER_MS = 0.5
  const ends = hits.map((hit) => hit.begin_ms + hit.latency_ms + HANDOVER_MS).sort((a, b) => a - b)
  let ended = 0
  return hits.map(({ begin_ms }, i) => {
    while (ends[ended] <= begin_ms) ended++
    return i + 1 - ended
  })
}
