import t from 'tap'
import { spoken } from '../../../../load/command/spoken.js'

t.test('a text names the commands that its reader can type', async (t) => {
  /** @type {[text: string, installed: string][]} */
  const rows = [
    ['npm run sweep -- --rates 5', 'redline sweep --rates 5'],
    ['npm run doctor     about 5 s', 'redline doctor     about 5 s'],
    ['POOL_MAX=5 npm run crash-test -- --blocks 5', 'POOL_MAX=5 redline crash-test --blocks 5'],
    ['`npm run bench:generators -- --blocks 5`.', '`redline generators --blocks 5`.'],
    ['npm run --silent database', 'redline database'],
    ['go on with: npm run tune -- --resume a', 'go on with: redline tune --resume a'],
    ['npm install', 'npm install'],
  ]
  for (const [text, installed] of rows) {
    t.equal(spoken(text, true), installed)
    t.equal(spoken(text, false), text)
  }
})
