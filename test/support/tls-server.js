import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { newServer } from './postgres.js'

/** @import { Test } from 'tap' */

/**
 * A CA, and a key and certificate for 127.0.0.1, of a server or of the user "postgres", that it has signed.
 * @param {string} folder
 * @param {string} name
 */
export function makeCa(folder, name) {
  const openssl = (/** @type {string[]} */ ...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const [ca, signed] = [`${name}-ca`, `${name}-signed`]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...curve, '-keyout', `${ca}.key`, '-out', `${ca}.pem`, '-days', '2', '-subj', `/CN=${ca}`)
  openssl('req', ...curve, '-keyout', `${signed}.key`, '-out', `${signed}.csr`, '-subj', '/CN=127.0.0.1')
  fs.writeFileSync(path.join(folder, 'san'), 'subjectAltName=IP:127.0.0.1')
  const sign = ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`, '-CAcreateserial', '-extfile', 'san']
  openssl('x509', '-req', '-in', `${signed}.csr`, ...sign, '-days', '2', '-out', `${signed}.pem`)
  const fileOf = (/** @type {string} */ file) => path.join(folder, file)
  return { ca: fileOf(`${ca}.pem`), cert: fileOf(`${signed}.pem`), key: fileOf(`${signed}.key`) }
}

/**
 * A Postgres that takes nobody without TLS, until the test ends.
 * @param {Test} t
 * @param {ReturnType<typeof makeCa>} files its own
 * @param {{ clients?: string }} [options] clients: file of the CA that has to have signed the certificates of its clients
 * @returns {Promise<{ url: string, urlWith: (files: Record<string, string>) => string }>} url: in the clear; urlWith: verifies it, by
 *   sslrootcert and further files
 */
export async function newTlsServer(t, { cert, key }, { clients } = {}) {
  const database = await newServer(t, { fsync: 'off' })
  // The server's user has to read its key, and nobody else may.
  const data = path.join(database.folder, 'data')
  const { uid, gid } = fs.statSync(data)
  const copies = { 'server.crt': cert, 'server.key': key, ...(clients && { 'clients.crt': clients }) }
  for (const [name, file] of Object.entries(copies)) {
    fs.copyFileSync(file, path.join(data, name))
    fs.chownSync(path.join(data, name), uid, gid)
    fs.chmodSync(path.join(data, name), 0o600)
  }
  await database.halt()
  fs.appendFileSync(path.join(data, 'postgresql.conf'), `ssl = on\n${clients ? "ssl_ca_file = 'clients.crt'\n" : ''}`)
  const asked = `scram-sha-256${clients ? ' clientcert=verify-ca' : ''}`
  fs.writeFileSync(path.join(data, 'pg_hba.conf'), `hostssl all all 127.0.0.1/32 ${asked}\n`)
  await database.start()
  const urlWith = (/** @type {Record<string, string>} */ files) => {
    return database.url.replace('sslmode=disable', String(new URLSearchParams({ sslmode: 'verify-full', ...files })))
  }
  return { url: database.url, urlWith }
}
