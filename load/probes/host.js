/**
 * What the process and the kernel of another host do: its agent looks, by its own clock, from the begin to the end.
 *
 * @param {import('../ssh/host.js').Host} host
 */
export function watchHost(host) {
  /** @type {Promise<{ process: import('./process.js').ProcessUse | null, kernel: any }> | undefined} */
  let ended
  const end = () => {
    ended ??= host.ask('end')
    // Who waits for it comes later.
    ended.catch(() => {})
    return ended
  }
  return {
    begin: () => host.ask('watch'),

    use: async () => (await end()).process,

    /** @type {import('./index.js').Probe} */
    kernel: {
      async sample() {},

      end() {
        const found = end()
        return async () => (await found).kernel
      },
    },
  }
}
