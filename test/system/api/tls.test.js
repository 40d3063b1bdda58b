import path from 'node:path'
import t from 'tap'
import { openLocal } from '../../../load/targets/index.js'
import { logged, newUser, post, startApi } from '../../support/api.js'
import { startHere, startUnreadyHere } from '../../support/api-here.js'
import { without } from '../../support/skip.js'
import { makeCa, newTlsServer } from '../../support/tls-server.js'

t.test('sslmode=verify-full with a CA file', { skip: without('openssl', 'version') }, async (t) => {
  const folder = t.testdir({})
  const [right, wrong] = [makeCa(folder, 'right'), makeCa(folder, 'wrong')]
  const database = await newTlsServer(t, right)
  const withCa = (/** @type {string} */ sslrootcert) => database.urlWith({ sslrootcert })

  const api = await startHere(t, withCa(right.ca))
  t.equal((await post(api.url, newUser())).status, 201, 'the right CA')

  for (const [about, url, reason] of /** @type {[string, string, RegExp][]} */ ([
    ['another CA', withCa(wrong.ca), /unable to verify|self-signed certificate/],
    ['in the clear', database.url, /no encryption/],
  ])) {
    const refused = await startUnreadyHere(t, url)
    t.equal((await post(refused.url, newUser())).status, 503, about)
    await logged(refused, reason)
  }
  const noFile = withCa('/no/such/ca.pem')
  const expected = /expected a file with CA certificates/
  await t.rejects(startApi(t, noFile), { exitCode: 2, message: expected })
  const options = { databaseUrl: noFile, cores: null, env: process.env, logFile: path.join(folder, 'api.log') }
  await t.rejects(openLocal(options), { message: /^sslrootcert in DATABASE_URL: expected a file/ }, 'the lab, too')
})
