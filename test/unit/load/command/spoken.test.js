import t from 'tap'
import { installedCommand, spoken } from '../../../../load/command/spoken.js'

t.test('a text names the commands that its reader can type', async (t) => {
  /** @type {[text: string, installed: string][]} */
  const rows = [
    ['npm run sweep -- --rates 5', 'redline sweep --rates 5'],
    ['npm run doctor     about 5 s', 'redline doctor     about 5 s'],
    ['POOL_MAX=5 npm run crash-test -- --blocks 5', 'POOL_MAX=5 redline crash-test --blocks 5'],
    ['`npm run bench:generators -- --blocks 5`.', '`redline bench:generators --blocks 5`.'],
    ['npm run --silent database', 'redline database'],
    ['go on with: npm run tune -- --resume a', 'go on with: redline tune --resume a'],
    ['npm install', 'npm install'],
  ]
  for (const [text, installed] of rows) {
    t.equal(spoken(text, 'redline'), installed)
    t.equal(spoken(text, null), text)
  }
})

t.test('an installed package is called the way in which it was installed', async (t) => {
  const npx = JSON.stringify({ _npx: { packages: ['file:/usb/redline-0.1.0.tgz'] } })
  /** @type {[name: string, root: string, cwd: string, json: string, command: string | null][]} */
  const rows = [
    ['a checkout', '/home/ada/redline', '/home/ada/redline', '{}', null],
    ['globally', '/usr/lib/node_modules/redline', '/home/ada', '{}', 'redline'],
    ['in this folder', '/home/ada/class/node_modules/redline', '/home/ada/class', '{}', 'npx redline'],
    ['in a folder above', '/home/ada/node_modules/redline', '/home/ada/class', '{}', 'npx redline'],
    ['in a folder of a similar name', '/home/ada/node_modules/redline', '/home/ada2', '{}', 'redline'],
    ['by npx', '/root/.npm/_npx/1f/node_modules/redline', '/x', npx, 'npx --yes file:/usb/redline-0.1.0.tgz'],
    ['by something that left no file', '/usr/lib/node_modules/redline', '/x', '', 'redline'],
  ]
  for (const [name, root, cwd, json, command] of rows)
    t.equal(
      installedCommand(root, cwd, () => json),
      command,
      name,
    )
})
