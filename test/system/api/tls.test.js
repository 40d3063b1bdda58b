import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openLocal } from '../../../load/targets/index.js'
import { logged, newUser, post, startApi, startUnready } from '../../support/api.js'
import { newServer } from '../../support/postgres.js'
import { without } from '../../support/skip.js'

/**
 * A CA, and a key and certificate for 127.0.0.1 that it has signed.
 * @param {string} folder
 * @param {string} name
 */
function makeCa(folder, name) {
  const openssl = (/** @type {string[]} */ ...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const [ca, server] = [`${name}-ca`, `${name}-server`]
  const key = (/** @type {string} */ file) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    `${file}.key`,
  ]
  openssl('req', '-x509', ...key(ca), '-out', `${ca}.pem`, '-days', '2', '-subj', `/CN=${ca}`)
  openssl('req', ...key(server), '-out', `${server}.csr`, '-subj', '/CN=127.0.0.1')
  fs.writeFileSync(path.join(folder, 'san'), 'subjectAltName=IP:127.0.0.1')
  const sign = ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-extfile', 'san']
  openssl('x509', '-req', '-in', `${server}.csr`, ...sign, '-days', '2', '-out', `${server}.pem`)
  return {
    ca: path.join(folder, `${ca}.pem`),
    cert: path.join(folder, `${server}.pem`),
    key: path.join(folder, `${server}.key`),
  }
}

t.test('sslmode=verify-full with a CA file', { skip: without('openssl', 'version') }, async (t) => {
  const folder = t.testdir({})
  const [right, wrong] = [makeCa(folder, 'right'), makeCa(folder, 'wrong')]
  const database = await newServer(t, { fsync: 'off' })
  // The server's user has to read its key, and nobody else may.
  const data = path.join(database.folder, 'data')
  const { uid, gid } = fs.statSync(data)
  for (const [name, file] of Object.entries({ 'server.crt': right.cert, 'server.key': right.key })) {
    fs.copyFileSync(file, path.join(data, name))
    fs.chownSync(path.join(data, name), uid, gid)
    fs.chmodSync(path.join(data, name), 0o600)
  }
  await database.halt()
  fs.appendFileSync(path.join(data, 'postgresql.conf'), 'ssl = on\n')
  fs.writeFileSync(path.join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 scram-sha-256\n')
  await database.start()
  const withCa = (/** @type {string} */ file) => {
    return database.url.replace('sslmode=disable', `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`)
  }

  const api = await startApi(t, withCa(right.ca))
  t.equal((await post(api.url, newUser())).status, 201, 'the right CA')

  for (const [about, url, reason] of /** @type {[string, string, RegExp][]} */ ([
    ['another CA', withCa(wrong.ca), /unable to verify|self-signed certificate/],
    ['in the clear', database.url, /no encryption/],
  ])) {
    const refused = await startUnready(t, url)
    t.equal((await post(refused.url, newUser())).status, 503, about)
    await logged(refused, reason)
  }
  const noFile = withCa('/no/such/ca.pem')
  const expected = /expected a file with CA certificates/
  await t.rejects(startApi(t, noFile), { exitCode: 2, message: expected })
  const options = { databaseUrl: noFile, cores: null, env: process.env, logFile: path.join(folder, 'api.log') }
  await t.rejects(openLocal(options), { message: /^sslrootcert in DATABASE_URL: expected a file/ }, 'the lab, too')
})
