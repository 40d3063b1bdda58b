import { subscribe } from 'node:diagnostics_channel'

/**
 * Preload of the API: a cache of 110 MiB in a heap that is not much larger, and requests whose objects live just long
 * enough to be promoted. Each major collection marks the whole cache to free little, and the next one is due soon.
 */
const HELD_OBJECTS = 1_300_000
const OBJECTS_PER_REQUEST = 2500

/** So many requests' objects live at a time: more of them than the young generation holds. */
const LIVING_REQUESTS = 40

const held = Array.from({ length: HELD_OBJECTS }, objectOf)
/** @type {object[][]} */
const living = Array.from({ length: LIVING_REQUESTS }, () => [])
let requests = 0

subscribe('http.server.request.start', (message) => {
  if (/** @type {any} */ (message).request.method !== 'POST') return
  const objects = Array.from({ length: OBJECTS_PER_REQUEST }, objectOf)
  living[requests++ % LIVING_REQUESTS] = objects
  held[requests % HELD_OBJECTS] = objects[0]
})

/** @param {unknown} _ @param {number} i */
function objectOf(_, i) {
  return { i, next: { i } }
}
