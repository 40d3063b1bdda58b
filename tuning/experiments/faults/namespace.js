import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Results } from '../../../load/run/results.js'
import { collect, startChild } from '../../../load/system/processes.js'
import { leashed } from '../../../sql/leash.js'
import { makeScratch } from '../../../sql/scratch.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Io } from '../../../load/run/runner.js'
 */

const CLI = fileURLToPath(new URL('../../cli.js', import.meta.url))
const STOP_GRACE_MS = 3000

/** Loopback only, and few ports: each connection to the same address takes one. */
const SET_UP = 'ip link set lo up && echo "40000 40063" > /proc/sys/net/ipv4/ip_local_port_range && exec "$@"'

/** @returns {string | null} the reason why this machine cannot create a network namespace, or null if it can */
export function namespaceProblem() {
  const [program, ...args] = withFewPorts(['true'])
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? null : `no network namespace of its own: ${error?.message ?? stderr.trim()}`
}

/** Wraps a command in a network namespace that disappears with its last process. @param {string[]} command program and arguments */
function withFewPorts(command) {
  const setUp = ['--net', '--', 'sh', '-c', SET_UP, 'sh']
  if (process.getuid?.() === 0) return ['unshare', ...setUp, ...command]
  // Inside, Postgres runs as the same user as outside.
  const self = ['--user', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`]
  // A new user namespace removes any leash that the command already has.
  const inner = ['unshare', ...self, '--', ...leashed(command, { signal: 'KILL' })]
  return ['unshare', '--user', '--map-root-user', ...setUp, ...inner]
}

/**
 * Runs faults in a network namespace with few ports, Postgres included, by starting this program again.
 * @param {string[]} names @param {{ repeats: number, duration_s: number, mix: { seed: number } }} plan @param {Io} io
 * @returns {Promise<{ records: TrialRecord[], words: string }>} words: its last ones, which may say why records are missing
 */
export async function runInside(names, { repeats, duration_s, mix }, { signal, progress, environment }) {
  const folder = makeScratch('faults')
  const out = path.join(folder, 'run')
  const flags = ['--inside', '--only', names.join(','), '--blocks', String(repeats), '--duration', `${duration_s}s`]
  const command = withFewPorts([process.execPath, CLI, 'faults', ...flags, '--seed', String(mix.seed), '--out', out])
  progress.note(`${names.join(', ')}: in a network namespace of its own …`)
  // Its Postgres must run inside, too.
  const env = { ...environment.forApi, DATABASE_URL: '' }
  const { child, exited, stop } = startChild(command, { cores: null, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const messages = collect(child.stderr)
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  try {
    await exited
    signal.throwIfAborted()
    const words = messages().trim().split('\n').at(-1) || '(none)'
    return { records: new Results(out).readTrials(), words }
  } finally {
    signal.removeEventListener('abort', abort)
    await stop(STOP_GRACE_MS)
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
