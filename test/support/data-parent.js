import fs from 'node:fs'

const MEMORY = '/dev/shm'

/** Three times what six servers and the databases of six test files on the shared one take. */
const REQUIRED_bytes = 2 ** 31

/**
 * The folder for data folders of Postgres: in memory where there is room. A data folder has a thousand files and a database 300, which
 * tests make and remove all the time, and some file systems take milliseconds for each. TMPDIR wins where it is set.
 * @returns {string}
 */
export function dataParent() {
  return process.env.TMPDIR ?? (hasRoom() ? MEMORY : '/var/tmp')
}

/** Tests may have to run a copy of the Postgres programs there, which containers often forbid. */
function hasRoom() {
  try {
    const mount = fs
      .readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .findLast((line) => line.split(' ')[1] === MEMORY)
    if (!mount || mount.split(' ')[3].split(',').includes('noexec')) return false
    fs.accessSync(MEMORY, fs.constants.W_OK)
    const { bavail, bsize } = fs.statfsSync(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= REQUIRED_bytes
  } catch {
    return false
  }
}
