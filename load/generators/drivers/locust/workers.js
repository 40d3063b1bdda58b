import { once } from 'node:events'
import { RemoteError } from '../../../command/errors.js'
import { collect, spawnLeashed } from '../../../system/processes.js'
import { quoted, startRemote } from '../../../system/ssh/remote.js'

/** @import { LoadHost } from '../../hosts/prepare.js' */

/** Number of workers for each host: dealt out in turn, at most one per core. @param {{ cores: number }[]} hosts @param {number} connections */
export function workersOf(hosts, connections) {
  const rounds = Array.from({ length: Math.max(...hosts.map(({ cores }) => cores)) }, (_, round) => round)
  const dealt = rounds.flatMap((round) => hosts.filter(({ cores }) => round < cores)).slice(0, connections)
  return hosts.map((host) => dealt.filter((one) => one === host).length)
}

/** @typedef {{ ended: Promise<never>, stop: () => Promise<void> }} Running ended: rejects when the process exits, for whatever reason */

/** Starts a locust process on this machine. @param {string[]} args @param {string} cwd @param {'pipe' | 'ignore'} [stdout] */
export function startHere(args, cwd, stdout = 'ignore') {
  const child = spawnLeashed(['locust', ...args], { cwd, stdio: ['pipe', stdout, 'pipe'] })
  const words = collect(child.stderr)
  child.stdin?.on('error', () => {})
  const ended = once(child, 'exit').then(([code, by]) => {
    throw new Error(
      `locust ended unexpectedly (${by ?? `code ${code}`}): ${words().trim().slice(-500) || '(no words)'}`,
    )
  })
  ended.catch(() => {})
  const stop = async () => {
    child.kill('SIGKILL')
    await ended.catch(() => {})
  }
  return { child, ended, stop }
}

/**
 * Starts workers on another host, with the files that they read. They reach the master through the ssh connection, so it
 * listens on loopback only and needs no open port.
 * @param {LoadHost} place
 * @param {{ config: string | null, workers: number, masterPort: number, args: string[], files: Record<string, string>,
 *   signal: AbortSignal }} options config: for `ssh -F`; files: text by name
 * @returns {Promise<Running>}
 */
export async function startThere({ host, program }, { config, workers, masterPort, args, files, signal }) {
  const command = [program, ...args].map(quoted).join(' ')
  const remote = startRemote(host, {
    ...{ flag: '--load-hosts', config, signal },
    more: ['-o', 'ExitOnForwardFailure=yes', '-R', `0:127.0.0.1:${masterPort}`],
    setup: 'export PYTHONDONTWRITEBYTECODE=1; folder=$(mktemp -d) && cd "$folder" || exit 1',
    words: `
start\\ *)
  for worker in $(seq ${workers}); do ( ${command} --master-host=127.0.0.1 --master-port="$2"; say ended $? ) & done ;;
`,
    cleanup: 'cd /; rm -rf "$folder"',
  })
  const byItself = remote.heard('ended').then(([code]) => {
    throw new RemoteError(`${host}: locust ended unexpectedly (code ${code}): ${remote.words().slice(-500)}`)
  })
  const ended = Promise.race([byItself, remote.lost])
  ended.catch(() => {})
  try {
    const [, port] = await remote.line(/^Allocated port (\d+) for remote forward/)
    for (const [name, text] of Object.entries(files)) await remote.give(name, [text])
    remote.tell(`start ${port}`)
    return { ended, stop: remote.close }
  } catch (error) {
    await remote.close()
    throw error
  }
}
