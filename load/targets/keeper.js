import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * `node keeper.js COMMAND GRACE_MS`: runs a command of the user's in a process group of its own, and ends the whole group when it is told
 * to end itself: by the lab, or by the kernel when the lab has died. It prints the command's process id on its standard output.
 */
const [command, grace_ms] = process.argv.slice(2)
const child = spawn('sh', ['-c', command], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] })
const group = -Number(child.pid)

/** @param {NodeJS.Signals | 0} signal @returns {boolean} whether there was still a process to get it */
function send(signal) {
  try {
    return process.kill(group, signal)
  } catch {
    return false
  }
}

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])) {
  process.on(signal, () => {
    send('SIGTERM')
    setTimeout(send, Number(grace_ms), 'SIGKILL').unref()
  })
}
const [code] = await once(child, 'exit')
// The shell may be gone before what it has started.
for (const until = performance.now() + Number(grace_ms); send(0) && performance.now() < until; ) {
  send('SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, 20))
}
send('SIGKILL')
process.exitCode = code ?? 1
