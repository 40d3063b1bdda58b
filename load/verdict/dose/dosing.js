import { setTimeout } from 'node:timers/promises'
import { startCommitDoser } from '../../system/dose/commit.js'
import { startDoser } from '../../system/dose/doser.js'

/**
 * @import { Dose, Slice } from '../../report/record.js'
 * @import { Doser } from '../../system/dose/doser.js'
 * @import { Host } from '../../system/ssh/host.js'
 * @import { Dosable } from './suspects.js'
 */

/** The first second of a load is slower and less even than the following ones, so the slices begin after it. */
export const LEAD_S = 1

/**
 * Starts the dosers of the suspects, here or on the service's host; none of them outlives this process.
 * @param {Dosable[]} suspects @param {AbortSignal} signal
 * @returns {Promise<{ run: (slices: Slice[], duration_s: number) => Promise<Dose[]>, close: () => Promise<void> }>} run: divides the
 *   duration after the lead into the slices, takes each one's dose, and returns the doses actually taken
 */
export async function openDosing(suspects, signal) {
  const starting = suspects.map((suspect) => {
    if ('host' in suspect) return startDoserOn(suspect)
    return 'database' in suspect ? startCommitDoser(suspect) : startDoser(suspect)
  })
  const opened = await Promise.allSettled(starting)
  const dosers = opened.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const close = async () => void (await Promise.all(dosers.map((doser) => doser.close())))
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  const named = new Map(suspects.map(({ name }, i) => [name, dosers[i]]))

  return {
    async run(slices, duration_s) {
      const first_ms = performance.now() + LEAD_S * 1000
      const slice_ms = ((duration_s - LEAD_S) * 1000) / slices.length
      const doses = []
      await until(first_ms, signal)
      for (const [i, slice] of slices.entries()) {
        const doser = slice.share > 0 ? named.get(slice.suspect) : undefined
        // Another host's answer arrives when the dose begins to show in the responses, since they take the same path.
        await doser?.begin(slice.share)
        // By the clock that the generator shares: timeOrigin + now() would differ once the clock has been set since one of them started.
        const from_ms = Date.now()
        await until(first_ms + (i + 1) * slice_ms, signal)
        const to_ms = Date.now()
        const taken_ratio = (await doser?.end()) ?? 0
        doses.push({ ...slice, taken_ratio, from_ms, to_ms })
      }
      return doses
    },
    close,
  }
}

/** @param {{ host: Host, cores?: string }} suspect @returns {Promise<Doser>} */
async function startDoserOn({ host, cores }) {
  await host.ask('openDoser', { cores })
  return {
    begin: (share) => host.ask('beginDose', { share }),
    end: () => host.ask('endDose'),
    // After an abort, the host takes no requests, and its doser ends by itself.
    close: () => host.ask('closeDoser').catch(() => {}),
  }
}

/** @param {number} at_ms by the monotonic clock; a past time resolves at once @param {AbortSignal} signal */
async function until(at_ms, signal) {
  await setTimeout(Math.max(0, at_ms - performance.now()), undefined, { signal })
}
