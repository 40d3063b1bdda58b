/**
 * `node --import '…/stop-at.js?words=…' …`: the program stops itself (SIGSTOP) once it has written a line on stderr that begins with
 * these words. Who waits for that line may then take its time: the program does nothing before SIGCONT.
 */
const words = String(new URL(import.meta.url).searchParams.get('words'))
const { stderr } = process
const { write } = stderr
let isOver = false

/** @param {any[]} given */
function writeAndStop(...given) {
  const written = Reflect.apply(write, stderr, given)
  if (!isOver && String(given[0]).startsWith(words)) {
    isOver = true
    process.kill(process.pid, 'SIGSTOP')
  }
  return written
}

stderr.write = /** @type {any} */ (writeAndStop)
