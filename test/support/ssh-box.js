import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { startLab } from './lab.js'
import { startSshd } from './sshd.js'

const run = promisify(execFile)

/**
 * A host as somebody who has just started one finds it: sshd, Node, npm, and nothing of Redline. Its npm finds the packages
 * in a copy of our own cache, since it has no way to a registry.
 *
 * @param {import('./hosts.js').Host} host
 * @param {Parameters<typeof startSshd>[1]} [options]
 */
export async function startBox(host, options) {
  cached ??= fillCache()
  const from = path.join(await cached, '_cacache')
  const to = path.join(host.folder, 'root', '.npm', '_cacache')
  fs.mkdirSync(path.dirname(to))
  // The files of a cache are never written twice.
  await run('cp', ['-al', from, to]).catch(async () => {
    fs.rmSync(to, { recursive: true, force: true })
    await run('cp', ['-a', from, to])
  })
  fs.writeFileSync(path.join(host.folder, 'root', '.npmrc'), 'offline=true\n')
  const sshd = await startSshd(host, options)
  return { ...host, ...sshd, flags: ['--ssh', sshd.user, '--ssh-config', sshd.configFile] }
}

/** @type {Promise<string> | undefined} */
let cached

/** What a box will ask for, brought into our own cache where it is not there. @returns {Promise<string>} its folder */
async function fillCache() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redline-test-'))
  try {
    for (const name of ['package.json', 'package-lock.json']) fs.copyFileSync(name, path.join(folder, name))
    await run('npm', ['ci', '--omit=dev', '--omit=optional', '--ignore-scripts', '--prefer-offline'], { cwd: folder })
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  return (await run('npm', ['config', 'get', 'cache'])).stdout.trim()
}

/** @typedef {Awaited<ReturnType<typeof startBox>>} Box */

/** Of Redline there. @param {Pick<Box, 'processes'>} box */
export function ourProcesses(box) {
  return box.processes().filter(({ command }) => /ssh\/agent\.js|api\/server\.js|npm|input-type/.test(command))
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
