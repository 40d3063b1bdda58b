import { execFile, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from './lab.js'
import { without, withoutRoot } from './skip.js'

/** Longest wait for any one command. */
const COMMAND_TIMEOUT_MS = 60_000

/** @param {string} program @param {string[]} args */
const run = (program, args) => promisify(execFile)(program, args, { timeout: COMMAND_TIMEOUT_MS })

/** Room for a data folder, the server's binaries and the write-ahead log of a few seconds. The file is sparse. */
const SIZE_BYTES = 2 * 1024 ** 3

/** Longest wait for processes that still hold the file system after their server was killed. */
const UNMOUNT_TIMEOUT_MS = 60_000

/**
 * A file system on a disk that can lose its power, until the test ends: an image file behind a loop device, behind the
 * kernel's device mapper. Barriers and ordered data are ext4's defaults; they are named because the test relies on them.
 *
 * `pause` makes every write and flush wait: what is acknowledged now is on the disk, or acknowledged too early. `fail`
 * lets the disk go on, but from then on it confirms writes and flushes without carrying them out (dm-flakey,
 * drop_writes). Neither syncs the file system first, which would save exactly what a loss of power destroys. `restore`
 * unmounts the file system, creates the device anew, so that no cache above the image survives, and mounts it again.
 * @param {any} t
 * @returns {Promise<{ folder: string, pause: () => Promise<void>, fail: () => Promise<void>, restore: () => Promise<void>, sync: () => Promise<void> }>}
 *   folder: where the file system is mounted, open to every user
 */
export async function failingDisk(t) {
  const workFolder = temporaryFolder(t)
  const name = path.basename(workFolder)
  const folder = path.join(workFolder, 'mounted')
  const image = path.join(workFolder, 'image')
  fs.mkdirSync(folder)
  fs.closeSync(fs.openSync(image, 'w'))
  fs.truncateSync(image, SIZE_BYTES)
  const loop = await output('losetup', '--find', '--show', image)
  removeAtExit(t, { folder, name, loop, workFolder })

  const sectors = SIZE_BYTES / 512
  const working = `0 ${sectors} linear ${loop} 0`
  const dropping = `0 ${sectors} flakey ${loop} 0 0 3600 1 drop_writes`
  const mount = async () => {
    await dmsetup('create', name, '--table', working)
    await run('mount', ['-t', 'ext4', '-o', 'barrier=1,data=ordered', `/dev/mapper/${name}`, folder])
  }
  const unmount = async () => {
    await unmounted(folder)
    await dmsetup('remove', '--retry', name)
  }
  await run('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0', loop])
  await mount()
  fs.chmodSync(folder, 0o777)
  return {
    folder,
    pause: async () => {
      await dmsetup('suspend', '--nolockfs', '--noflush', name)
      await dmsetup('load', name, '--table', dropping)
    },
    fail: async () => {
      await dmsetup('resume', name)
    },
    restore: async () => {
      await unmount()
      await mount()
    },
    sync: async () => {
      await run('sync', ['--file-system', folder])
    },
  }
}

/** Why a disk cannot be made to lose writes here; undefined: it can. */
export function withoutFailingDisk() {
  const noRoot = withoutRoot()
  if (noRoot) return noRoot
  // Both may be modules that nobody has needed yet. Where they are built in, or do not exist, this changes nothing.
  spawnSync('modprobe', ['--all', 'loop', 'dm-mod', 'dm-flakey'])
  const drivers = fs.existsSync('/proc/misc') ? fs.readFileSync('/proc/misc', 'utf8') : ''
  if (!drivers.includes('device-mapper'))
    return 'this kernel has no device mapper (no "device-mapper" in /proc/misc), which is needed to drop writes'
  const programs = [
    ['dmsetup', 'targets'],
    ['mkfs.ext4', '-V'],
    ['losetup', '--version'],
  ]
  const missing = programs.map((command) => without(...command)).find(Boolean)
  if (missing) return missing
  const targets = spawnSync('dmsetup', ['targets'], { encoding: 'utf8' }).stdout
  return /^flakey /m.test(targets)
    ? undefined
    : 'this needs the device mapper\'s target "flakey" (kernel module dm-flakey)'
}

/** @param {string} folder */
async function unmounted(folder) {
  for (const until = Date.now() + UNMOUNT_TIMEOUT_MS; ; ) {
    try {
      return await run('umount', [folder])
    } catch (error) {
      if (Date.now() > until) throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

/**
 * Whatever the test left behind goes when it ends, and when its process does, by Ctrl-C too. Each step is one that the
 * kernel completes later if the disk is still in use: a process that outlives us for a moment keeps nothing alive.
 * @param {any} t
 * @param {{ folder: string, name: string, loop: string, workFolder: string }} disk
 */
function removeAtExit(t, { folder, name, loop, workFolder }) {
  const steps = [
    // Nothing can be unmounted from a disk that is paused.
    ['dmsetup', 'resume', name],
    ['umount', '--lazy', folder],
    ['dmsetup', 'remove', '--deferred', '--verifyudev', name],
    ['losetup', '--detach', loop],
  ]
  const remove = () => {
    for (const [program, ...args] of steps) spawnSync(program, args, { timeout: COMMAND_TIMEOUT_MS })
    fs.rmSync(workFolder, { recursive: true, force: true })
  }
  const onSignal = () => process.exit(130)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  process.once('exit', remove)
  for (const signal of signals) process.once(signal, onSignal)
  t.teardown(() => {
    process.off('exit', remove)
    for (const signal of signals) process.off(signal, onSignal)
    remove()
  })
}

/** Where no udev makes the node in /dev/mapper, as in a container, dmsetup does. @param {string[]} args */
function dmsetup(...args) {
  return run('dmsetup', [...args, '--verifyudev'])
}

/** @param {string} program @param {string[]} args */
async function output(program, ...args) {
  return (await run(program, args)).stdout.trim()
}
