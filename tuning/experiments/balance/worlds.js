import { seededRandom } from '../../../load/system/random.js'
import { PLAIN, unevenEndpoints } from './endpoints.js'

/** @import { Endpoint, Slow } from './endpoints.js' */

export const NO_MEMORY = 'equal, no memory'

/** No quantile that is compared lies in the gap between a cached answer and a cold one. */
const CACHED_RATIO = 0.4

/** Mean length of a spell in which an endpoint has its answers cached, or cold. */
const SPELL_S = 60

/** Cached share of the answers in each kind of spell. */
const WARM_RATIO = 0.9
const CHILLED_RATIO = 0.1

/**
 * Made-up endpoints.
 *
 * @param {number} count
 * @param {Slow} slow
 * @returns {World[]}
 *
 * @typedef {{ name: string, about: string, endpoints: number, create: (seed: number) => EndpointAt }} World
 * @typedef {(endpoint: number, now_ms: number) => Endpoint} EndpointAt
 */
export function worlds(count, slow) {
  const uneven = unevenEndpoints(count, slow)
  return [
    {
      name: NO_MEMORY,
      about: `every answer of every endpoint is cached in ${CACHED_RATIO * 100} of 100 cases, whatever the one before it was`,
      endpoints: count,
      create: () => () => ({ ...PLAIN, cached_ratio: CACHED_RATIO }),
    },
    {
      name: 'equal, with spells',
      about: `in the long run all alike, but each has spells of ${SPELL_S} s on the average in which its answers are mostly cached, or mostly cold`,
      endpoints: count,
      create: (seed) => spells(count, seed),
    },
    {
      name: 'uneven',
      about: `as the endpoints that run here: ${uneven.map(({ name }) => name).join(', ')}`,
      endpoints: count,
      create: () => (endpoint) => uneven[endpoint],
    },
  ]
}

/** Spells end at random times, whoever asks and however often. @param {number} count @param {number} seed */
function spells(count, seed) {
  const all = Array.from({ length: count }, (_, i) => {
    const random = seededRandom(seed * 1009 + i)
    const spell_ms = () => -Math.log(1 - random()) * SPELL_S * 1000
    return { warm: random() < 0.5, until_ms: spell_ms(), spell_ms }
  })
  return (/** @type {number} */ endpoint, /** @type {number} */ now_ms) => {
    const own = all[endpoint]
    for (; own.until_ms <= now_ms; own.until_ms += own.spell_ms()) own.warm = !own.warm
    return { ...PLAIN, cached_ratio: own.warm ? WARM_RATIO : CHILLED_RATIO }
  }
}
