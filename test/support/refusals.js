import { main } from '../../load/run/shell.js'
import { createShell } from './shell.js'

/** @import { Action, Verb } from '../../load/run/experiment.js' */

/**
 * Asserts that a verb refuses each of these command lines with one line and exit code 2, before it begins anything.
 * @param {any} t
 * @param {Record<string, Verb | Action>} verb by its name
 * @param {[argv: string[], message: RegExp][]} refused
 */
export async function refuses(t, verb, refused) {
  t.not(refused.length, 0)
  const [name] = Object.keys(verb)
  for (const [argv, message] of refused) {
    const begun = async () => {
      throw new Error('the command line was accepted')
    }
    const shell = createShell({ lab: { openOrigin: begun } })
    t.equal(await main(verb, [name, ...argv], shell), 2, argv.join(' '))
    t.match(shell.said.stderr, message)
    t.match(shell.said.stderr, /^redline: [^\n]*\n$/)
    t.equal(shell.said.stdout, '')
  }
}
