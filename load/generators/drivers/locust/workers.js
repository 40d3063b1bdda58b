import { once } from 'node:events'
import fs from 'node:fs/promises'
import { RemoteError } from '../../../command/errors.js'
import { collect, spawnLeashed } from '../../../system/processes.js'
import { quoted, startRemote } from '../../../system/ssh/remote.js'
import { totalOf } from '../tally.js'

/**
 * @import { LoadHost } from '../../hosts/prepare.js'
 * @import { ChildProcess } from 'node:child_process'
 */

/** @typedef {{ ended: Promise<never>, stop: () => Promise<void> }} Running ended: rejects when it ends, by itself or not */

/**
 * A program of locust's on this machine.
 *
 * @param {string[]} command
 * @param {'pipe' | 'ignore'} [stdout]
 * @returns {Running & { child: ChildProcess }}
 */
export function startHere(command, stdout = 'ignore') {
  const child = spawnLeashed(command, { stdio: ['pipe', stdout, 'pipe'] })
  const words = collect(child.stderr)
  child.stdin?.on('error', () => {})
  const ended = once(child, 'exit').then(([code, by]) => {
    throw new Error(`locust ended by itself (${by ?? `code ${code}`}): ${words().trim().slice(-500) || '(no words)'}`)
  })
  ended.catch(() => {})
  return {
    child,
    ended,
    stop: async () => {
      child.kill('SIGKILL')
      await ended.catch(() => {})
    },
  }
}

/**
 * Workers on another host. They come to the master through the connection, so that it listens on loopback alone and no
 * port has to be open. The files that they read go with them.
 *
 * @param {LoadHost} place
 * @param {object} options
 * @param {string | null} options.config for `ssh -F`
 * @param {number} options.workers
 * @param {number} options.masterPort here
 * @param {string[]} options.args of each worker, but for where the master is
 * @param {Record<string, string>} options.files their names by where they are here
 * @param {AbortSignal} options.signal
 * @returns {Promise<Running>}
 */
export async function startThere({ host, program }, { config, workers, masterPort, args, files, signal }) {
  const command = [program, ...args].map(quoted).join(' ')
  const remote = startRemote(host, {
    config,
    more: ['-o', 'ExitOnForwardFailure=yes', '-R', `0:127.0.0.1:${masterPort}`],
    setup: 'export PYTHONDONTWRITEBYTECODE=1; folder=$(mktemp -d) && cd "$folder" || exit 1',
    words: `
start\\ *)
  for worker in $(seq ${workers}); do ( ${command} --master-host=127.0.0.1 --master-port="$2"; say ended $? ) & done ;;
`,
    cleanup: 'cd /; rm -rf "$folder"',
  })
  signal.addEventListener('abort', () => void remote.close())
  const byItself = remote.heard('ended').then(([code]) => {
    throw new RemoteError(`${host}: locust ended by itself (code ${code}): ${remote.words().slice(-500)}`)
  })
  const ended = Promise.race([byItself, remote.lost])
  ended.catch(() => {})
  try {
    const [, port] = await remote.line(/^Allocated port (\d+) for remote forward/)
    for (const [file, name] of Object.entries(files)) await remote.give(name, [await fs.readFile(file)])
    remote.tell(`start ${port}`)
    return { ended, stop: remote.close }
  } catch (error) {
    await remote.close()
    throw error
  }
}

/**
 * How many workers each host gets: in turn, one for each of its cores at the most, and none without a connection.
 *
 * @param {{ cores: number }[]} hosts
 * @param {number} connections
 */
export function workersOf(hosts, connections) {
  const counts = hosts.map(() => 0)
  const cores = totalOf(hosts, (host) => host.cores)
  const total = Math.min(connections, cores)
  for (let i = 0, placed = 0; placed < total; i++) {
    const host = i % hosts.length
    if (counts[host] >= hosts[host].cores) continue
    counts[host]++
    placed++
  }
  return counts
}
