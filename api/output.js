import fs from 'node:fs'

/** Longest text that waits to be written; while it is that long, further lines are dropped. */
const MAX_WAITING_CHARACTERS = 1 << 20

/** Delay before the next attempt to write to a full pipe. */
const RETRY_MS = 100

const SYSTEM = { write: fs.write, writeSync: fs.writeSync, setTimeout, onExit: atExit }

/**
 * Writes lines in the background and drops those that cannot be written: a full disk, or a reader that has stalled or gone, must not stop
 * the service. (pino's own destination ends the process at a failed write, and then retries it forever, deaf to signals.)
 * @param {number} fd open for writing @param {typeof SYSTEM} [system] @returns {{ write: (line: string) => void }}
 */
export function createOutput(fd, { write, writeSync, setTimeout, onExit } = SYSTEM) {
  let waiting = ''
  /** @type {Buffer} */
  let writing = Buffer.of()
  let isBusy = false

  function writeOn() {
    if (writing.length === 0) {
      writing = Buffer.from(waiting)
      waiting = ''
    }
    isBusy = writing.length > 0
    if (isBusy) write(fd, writing, written)
  }

  /** @param {NodeJS.ErrnoException | null} error @param {number} bytes */
  function written(error, bytes) {
    // A pipe that another process has made non-blocking, such as npm, is full.
    if (error?.code === 'EAGAIN') return void setTimeout(writeOn, RETRY_MS).unref()
    writing = error ? Buffer.of() : writing.subarray(bytes)
    writeOn()
  }

  onExit(() => {
    try {
      writeSync(fd, waiting)
    } catch {
      // As above: these lines are lost.
    }
  })

  return {
    write(line) {
      if (waiting.length < MAX_WAITING_CHARACTERS) waiting += line
      if (!isBusy) writeOn()
    },
  }
}

/** @param {() => void} act */
function atExit(act) {
  process.once('exit', act)
}
