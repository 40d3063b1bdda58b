/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Probe } from './index.js'
 * @import { ProcessUse } from './process.js'
 */

/**
 * What the process and the kernel of another host do: its agent looks, by its own clock, from the begin to the end.
 *
 * @param {Host} host
 */
export function watchHost(host) {
  /** @type {Promise<{ process: ProcessUse | null, kernel: any }> | undefined} */
  let ended
  const end = () => {
    ended ??= host.ask('end')
    // Who waits for it comes later.
    ended.catch(() => {})
    return ended
  }
  return {
    begin: () => host.ask('watch'),

    use: () => {
      const use = end().then((found) => found.process)
      // Who waits for it reads a page first, or is gone by then.
      use.catch(() => {})
      return use
    },

    /** @type {Probe} */
    kernel: {
      async sample() {},

      end() {
        const found = end()
        return async () => (await found).kernel
      },
    },
  }
}
