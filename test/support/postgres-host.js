import { execFile } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { postgresUser } from '../../sql/binaries.js'
import { given } from './postgres.js'

/** @import { Host } from './hosts.js' */

const run = promisify(execFile)
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const SERVER = 'test/support/postgres-server.js'

/**
 * A Postgres on a host, until the test ends, as a managed one is: it listens there alone, asks for a password, and takes
 * nobody without TLS; its certificate is for its address, by a CA of the test's own.
 * @param {Host} host
 * @param {object} [options]
 * @param {Record<string, string>} [options.settings] of Postgres
 * @returns {Promise<{ url: string, caFile: string }>} url verifies by the CA file
 */
export async function startPostgres(host, { settings = {} } = {}) {
  const folder = fs.mkdtempSync(path.join(host.folder, 'postgres-'))
  fs.chmodSync(folder, 0o711)
  const { caFile, certificate, key } = await newCertificate(folder, host.address)
  const user = await postgresUser()
  if (user) fs.chownSync(key, user.uid, user.gid)
  const hba = path.join(folder, 'pg_hba.conf')
  fs.writeFileSync(hba, 'hostssl all all all scram-sha-256\n', { mode: 0o644 })
  const all = {
    listen_addresses: host.address,
    hba_file: hba,
    ssl: 'on',
    ssl_cert_file: certificate,
    ssl_key_file: key,
    ...settings,
  }
  const shared = `REDLINE_TEST_POSTGRES=${JSON.stringify({ initialised: initialisedOn(host) })}`
  const child = host.spawn(['env', shared, host.node, path.join(host.checkout, SERVER), JSON.stringify(all)])
  const words = child.stderr?.setEncoding('utf8').toArray()
  const said = await Promise.race([once(/** @type {any} */ (child.stdout), 'data'), once(child, 'exit')])
  if (child.exitCode !== null) throw new Error(`expected Postgres to start: ${(await words)?.join('')}`)
  const url = new URL(String(said[0]))
  url.hostname = host.address
  url.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: caFile }).toString()
  return { url: url.href, caFile }
}

/** What this run has initialised, by its paths there. @param {Host} host */
function initialisedOn({ checkout, data }) {
  const initialised = given()?.initialised
  if (!initialised) return undefined
  const { folder, native } = initialised
  const isCopy = native.startsWith(`${folder}/`)
  const from = isCopy ? folder : CHECKOUT
  return { ...initialised, folder: data, native: path.join(isCopy ? data : checkout, path.relative(from, native)) }
}

/**
 * @param {string} folder
 * @param {string} address
 * @returns {Promise<{ caFile: string, certificate: string, key: string }>}
 */
export async function newCertificate(folder, address) {
  const [caKey, caFile, key, request, certificate, extension] = [
    'ca.key',
    'ca.pem',
    'server.key',
    'server.csr',
    'server.pem',
    'server.ext',
  ].map((name) => path.join(folder, name))
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    caKey,
    '-out',
    caFile,
    '-days',
    '2',
    '-subj',
    '/CN=CA of a test',
  ])
  await run('openssl', ['req', ...newKey, '-keyout', key, '-out', request, '-subj', '/CN=postgres'])
  fs.writeFileSync(extension, `subjectAltName=IP:${address}\n`)
  const by = ['-CA', caFile, '-CAkey', caKey, '-CAcreateserial', '-days', '2', '-extfile', extension]
  await run('openssl', ['x509', '-req', '-in', request, '-out', certificate, ...by])
  for (const file of [caFile, certificate]) fs.chmodSync(file, 0o644)
  return { caFile, certificate, key }
}
