/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Probe } from './index.js'
 * @import { ProcessUse } from './process.js'
 */

/** Watches the process and the kernel of another host: its agent measures from begin() to the end, by its own clock. @param {Host} host */
export function watchHost(host) {
  /** @type {Promise<{ process: ProcessUse | null, kernel: any }> | undefined} */
  let ended
  // Callers await a part only after reading the metrics page, or never; until then a rejection must not count as unhandled.
  const end = (/** @type {'process' | 'kernel'} */ part) => {
    ended ??= host.ask('end')
    const found = ended.then((all) => all[part])
    found.catch(() => {})
    return found
  }
  return {
    begin: () => host.ask('watch'),
    use: () => end('process'),

    /** @type {Probe} */
    kernel: {
      async sample() {},

      end() {
        const found = end('kernel')
        return () => found
      },
    },
  }
}
