/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Probe } from './index.js'
 * @import { ProcessUse } from './process.js'
 */

/** What the process and the kernel of another host do: its agent looks, by its own clock, from the begin to the end. @param {Host} host */
export function watchHost(host) {
  /** @type {Promise<{ process: ProcessUse | null, kernel: any }> | undefined} */
  let ended
  // Whoever waits for a part reads a page first, or is gone by then: a rejection is no fault before that.
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
