import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import t from 'tap'
import { admit, refusal } from '../../../../../tuning/experiments/ablate/inside/admit.js'

t.test('stages can be taken away once, on loopback, by who has the token, and not in production', async (t) => {
  const token = 'a-token'
  const folder = admit(token)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const env = { HOST: '127.0.0.1' }
  const asked = { socket: path.join(folder, 'orders'), token, env }
  const open = mkdtempSync(path.join(os.tmpdir(), 'redline-ablate-'))
  t.teardown(() => rmSync(open, { recursive: true, force: true }))
  chmodSync(open, 0o755)
  /** @type {[object, RegExp][]} */
  const refused = [
    [{ env: { ...env, NODE_ENV: 'production' } }, /NODE_ENV other than production/],
    [{ env: {} }, /HOST to be a loopback address, got none/],
    [{ env: { HOST: '0.0.0.0' } }, /HOST to be a loopback address, got 0\.0\.0\.0/],
    [{ socket: '/orders' }, /a temporary folder that only its owner can enter/],
    [{ socket: path.join(open, 'orders') }, /a temporary folder that only its owner can enter/],
    [{ socket: path.join(folder, 'deeper', 'orders') }, /a temporary folder that only its owner can enter/],
    [{ token: null }, /the one-off token in that folder/],
    [{ token: 'another' }, /the one-off token in that folder/],
  ]
  for (const [change, message] of refused) t.match(refusal({ ...asked, ...change }), message)
  t.equal(refusal(asked), null)
  t.match(refusal(asked), /the one-off token in that folder/)
})
