import t from 'tap'
import { main } from '../../../../load/run/shell.js'
import { doctor } from '../../../../load/verbs/doctor.js'
import { createShell } from '../../../support/shell.js'

t.test('what is wrong ends with exit code 2 and one line', async (t) => {
  /** @type {[string[], Record<string, string>, string][]} */
  const wrong = [
    [['--rate', 'fast'], {}, '--rate: expected a whole number from 1 to 1000000, got "fast"'],
    [['--connections', '0'], {}, '--connections: expected a whole number from 1 to 60000, got "0"'],
    [['--blocks', '2'], {}, 'expected a flag of this verb, got --blocks; --help lists the flags'],
    [[], { POOL_MAX: 'many' }, 'POOL_MAX: expected a whole number from 1 to 10000 (connections), got "many"'],
  ]
  for (const [argv, env, message] of wrong) {
    const shell = createShell({ env })
    t.equal(await main({ doctor }, ['doctor', ...argv], shell), 2, message)
    t.strictSame(shell.said, { stdout: '', stderr: `redline: ${message}\n` })
  }
})

t.test('--help has an example and needs nothing', async (t) => {
  const shell = createShell()
  t.equal(await main({ doctor }, ['doctor', '--help'], shell), 0)
  t.match(shell.said.stdout, /--rate N[\s\S]*Examples:\n {2}npm run doctor/)
})
