import { UsageError } from '../../load/flags.js'

/**
 * Asserts that a verb refuses each of these command lines in one line, before it begins anything.
 *
 * @param {any} t
 * @param {import('../../load/verb.js').Verb} verb
 * @param {[argv: string[], message: RegExp][]} refused
 */
export async function refuses(t, verb, refused) {
  t.not(refused.length, 0)
  // A command line that is accepted after all ends at once.
  const signal = AbortSignal.abort(new Error('accepted'))
  for (const [argv, message] of refused) {
    const io = /** @type {any} */ ({ signal, progress: { note: () => {} }, environment: { settings: {} } })
    const error = await verb.run(argv, io).catch((/** @type {Error} */ reason) => reason)
    t.type(error, UsageError, argv.join(' '))
    t.match(error, { message })
    t.notMatch(error, { message: /\n/ })
  }
}
