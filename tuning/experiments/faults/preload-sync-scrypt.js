import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** Preload of the API: scrypt as those have it who took the other function, on the event loop. */
crypto.scrypt = /** @type {any} */ (
  (/** @type {any[]} */ ...args) => {
    const done = args.pop()
    done(null, crypto.scryptSync(.../** @type {Parameters<typeof crypto.scryptSync>} */ (args)))
  }
)
syncBuiltinESMExports()
