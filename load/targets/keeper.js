import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sendSignal } from '../../sql/signals.js'

/**
 * `node keeper.js COMMAND GRACE_MS`: runs a user's command in a process group of its own, and ends the whole group when it gets a signal
 * from the lab, or from the kernel when the lab has died.
 */
const [command, grace_ms] = process.argv.slice(2)

for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])) {
  process.on(signal, () => {
    sendSignal(group, 'SIGTERM')
    setTimeout(sendSignal, Number(grace_ms), group, 'SIGKILL').unref()
  })
}
// A signal that comes now is handled at the first await, when there is a group to end.
const child = spawn('sh', ['-c', command], { detached: true, stdio: ['ignore', 'inherit', 'inherit'] })
const group = -Number(child.pid)
const [code] = await once(child, 'exit')
// The shell may exit before the processes that it has started.
for (const until = performance.now() + Number(grace_ms); sendSignal(group, 0) && performance.now() < until; ) {
  sendSignal(group, 'SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, 20))
}
sendSignal(group, 'SIGKILL')
process.exitCode = code ?? 1
