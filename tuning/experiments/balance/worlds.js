import { seededRandom } from '../../../load/system/random.js'
import { unevenEndpoints } from './endpoints.js'

/** @import { Endpoint, Slow } from './endpoints.js' */

/**
 * Endpoints that are made up.
 *
 * @typedef {object} World
 * @property {string} name
 * @property {string} about
 * @property {number} endpoints
 * @property {(seed: number) => (endpoint: number, now_ms: number) => Endpoint} create
 */

export const NO_MEMORY = 'equal, no memory'

/** No quantile that is compared lies in the gap between a cached answer and a cold one. */
const CACHED_RATIO = 0.4

const PLAIN = { name: '', extra_ms: 0, error_ratio: 0, fails: false }

/** Of a spell in which an endpoint has its answers cached, or cold: it lasts for so many answers, not for one. */
const SPELL_S = 60

/** In a spell; the other share is what always misses, or always hits. */
const WARM_RATIO = 0.9
const CHILLED_RATIO = 0.1

/** @param {number} count @param {Slow} slow @returns {World[]} */
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

/**
 * Each endpoint goes from one spell to the other at times that are drawn, whoever asks and however often.
 *
 * @param {number} count
 * @param {number} seed
 */
function spells(count, seed) {
  const all = Array.from({ length: count }, (_, i) => {
    const random = seededRandom(seed * 1009 + i)
    return { random, warm: random() < 0.5, until_ms: spell_ms(random) }
  })
  return (/** @type {number} */ endpoint, /** @type {number} */ now_ms) => {
    const own = all[endpoint]
    while (own.until_ms <= now_ms) {
      own.warm = !own.warm
      own.until_ms += spell_ms(own.random)
    }
    return { ...PLAIN, cached_ratio: own.warm ? WARM_RATIO : CHILLED_RATIO }
  }
}

/** Exponential. @param {() => number} random */
function spell_ms(random) {
  return -Math.log(1 - random()) * SPELL_S * 1000
}
