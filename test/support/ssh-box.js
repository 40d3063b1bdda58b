import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bundleOf } from '../../load/system/ssh/prepare.js'
import { startLab } from './lab.js'
import { startSshd } from './sshd.js'
import { until } from './until.js'

/** @import { Host } from './hosts.js' */

const run = promisify(execFile)

/** Longer than a silence that ends a connection. */
const DEADLINE_MS = 60_000

/** Packages of boxes that have them, installed once for all test files. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/redline-boxes', import.meta.url))

/**
 * A host as somebody finds it who has used it before: sshd, Node, npm, and Redline's packages in its cache.
 * @param {Host} host
 * @param {Parameters<typeof startSshd>[1]} [options]
 */
export async function startBox(host, options) {
  const folder = await installed()
  const to = path.join(host.folder, 'root', '.cache', 'redline')
  fs.mkdirSync(to, { recursive: true, mode: 0o700 })
  await link(folder, path.join(to, path.basename(folder)))
  return openBox(host, options)
}

/**
 * A host as somebody has just started one: nothing of Redline is there. Its npm finds the packages in a copy of our own
 * cache, since it has no way to a registry.
 * @param {Host} host
 * @param {Parameters<typeof startSshd>[1]} [options]
 */
export async function startBareBox(host, options) {
  // What has installed them has filled our own cache, too.
  await installed()
  const cache = (await run('npm', ['config', 'get', 'cache'])).stdout.trim()
  const to = path.join(host.folder, 'root', '.npm', '_cacache')
  fs.mkdirSync(path.dirname(to))
  await link(path.join(cache, '_cacache'), to)
  return openBox(host, options)
}

/** @param {Host} host @param {Parameters<typeof startSshd>[1]} options */
async function openBox(host, options) {
  fs.writeFileSync(path.join(host.folder, 'root', '.npmrc'), 'offline=true\n')
  const sshd = await startSshd(host, options)
  return { ...host, ...sshd, flags: ['--ssh', sshd.user, '--ssh-config', sshd.configFile] }
}

/** Neither packages nor the files of npm's cache are written twice. @param {string} from @param {string} to */
async function link(from, to) {
  await run('cp', ['-al', from, to]).catch(async () => {
    fs.rmSync(to, { recursive: true, force: true })
    await run('cp', ['-a', from, to])
  })
}

const NPM_CI = [
  'ci',
  '--omit=dev',
  '--omit=optional',
  '--ignore-scripts',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
]

/** @type {Promise<string> | undefined} */
let installing

/** The packages, as npm installs them on a box. @returns {Promise<string>} folder, named as there */
function installed() {
  installing ??= install()
  return installing
}

async function install() {
  const { modules, packages } = bundleOf()
  const target = path.join(CACHE, modules)
  if (fs.existsSync(target)) return target
  const folder = `${target}.${process.pid}`
  fs.mkdirSync(folder, { recursive: true })
  try {
    for (const [name, text] of Object.entries(packages)) fs.writeFileSync(path.join(folder, name), text)
    await run('npm', NPM_CI, { cwd: folder })
    // Unless another test file was faster.
    if (!fs.existsSync(target)) fs.renameSync(folder, target)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  return target
}

/** @typedef {Awaited<ReturnType<typeof startBox>>} Box */

/** Of Redline there. @param {Pick<Box, 'processes'>} box */
export function ourProcesses(box) {
  return box
    .processes()
    .filter(({ command }) => /ssh\/agent\.js|api\/server\.js|dose\/helper\.js|npm|input-type/.test(command))
}

/** @param {Pick<Box, 'name' | 'processes'>} box */
export async function untilNothingRuns(box) {
  await until(`nothing of Redline to run on ${box.name}`, () => ourProcesses(box).length === 0, DEADLINE_MS)
}

/** @param {string[]} argv @param {Record<string, string | undefined>} [env] */
export function runSweep(argv, env) {
  const short = ['--duration', '1s', '--warmup', '300ms', '--slo-p99', '5s']
  return startLab(['sweep', ...short, ...argv], env)
}
