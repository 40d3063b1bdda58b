import { subscribe } from 'node:diagnostics_channel'

/** Preload of the API: every POST costs this much more of its core, in one piece. */
const SPIN_MS = 1

subscribe('http.server.request.start', (message) => {
  if (/** @type {any} */ (message).request.method !== 'POST') return
  for (const until = performance.now() + SPIN_MS; performance.now() < until; );
})
