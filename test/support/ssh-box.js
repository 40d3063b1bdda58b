import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { startLab } from './lab.js'
import { startSshd } from './sshd.js'

/**
 * A host as somebody who has just started one finds it: sshd, Node, npm, and nothing of Redline. Its npm finds the packages
 * in a copy of our own cache, since it has no way to a registry.
 *
 * @param {import('./hosts.js').Host} host
 * @param {Parameters<typeof startSshd>[1]} [options]
 */
export async function startBox(host, options) {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
  const own = path.join(host.folder, 'root', '.npm')
  fs.mkdirSync(own)
  const [from, to] = [path.join(cache, '_cacache'), path.join(own, '_cacache')]
  try {
    // The files of a cache are never written twice.
    execFileSync('cp', ['-al', from, to], { stdio: 'ignore' })
  } catch {
    fs.rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to])
  }
  const sshd = await startSshd(host, options)
  return { ...host, ...sshd, flags: ['--ssh', sshd.user, '--ssh-config', sshd.configFile] }
}

/** @typedef {Awaited<ReturnType<typeof startBox>>} Box */

/** Of Redline there. @param {Pick<Box, 'processes'>} box */
export function ourProcesses(box) {
  return box.processes().filter(({ command }) => /ssh\/agent\.js|api\/server\.js/.test(command))
}

/** @param {Pick<Box, 'processes'>} box */
export async function untilNothingRuns(box) {
  while (ourProcesses(box).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
}

/** @param {string[]} argv @param {Record<string, string | undefined>} [env] */
export function runSweep(argv, env) {
  const short = ['--duration', '1s', '--warmup', '300ms', '--slo-p99', '5s']
  return startLab(['sweep', ...short, ...argv], env)
}
