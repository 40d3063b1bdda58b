import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../command/errors.js'
import { refusalOf } from './remote.js'

/** @import { Remote } from './remote.js' */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Folders whose programs a host gets, and nothing else: no results, .env, .npmrc or .git. */
const FOLDERS = ['api', 'load', 'sql', 'tuning']
const PROGRAM = /\.(js|sql)$/
/** Files that npm needs to install the packages. A published package cannot contain the lock file under its usual name. */
const PACKAGES = ['package.json', 'package-lock.json']
const PACKED_LOCK = 'npm-shrinkwrap.json'
/** Minimum version of Node, as in package.json (engines). */
const LEAST_NODE = [20, 19]
const INSTALL = fileURLToPath(new URL('install.js', import.meta.url))
const SETUP = readFileSync(new URL('setup.sh', import.meta.url), 'utf8')

/** The script of a connection to the API's host, for startRemote. @param {Bundle} bundle */
export const scriptFor = ({ code, modules }) => ({
  setup: `code=${code} modules=${modules} least_major=${LEAST_NODE[0]} least_minor=${LEAST_NODE[1]}\n${SETUP}`,
  words: `
install) { "$node" --input-type=module - "$cache" <&5; say install $?; } & ;;
agent) cd "$cache/$code" && exec "$node" load/targets/ssh/agent.js 4>&- 5<&- ;;
`,
  cleanup: 'kill -TERM 0; wait',
})

/**
 * Copies our programs to the host, unless they are already there.
 * @param {Remote} remote runs the script above @param {Bundle} bundle
 * @param {{ name: string, note: (text: string) => void, flag?: string }} options name: of the host; flag: that named it
 * @throws {UsageError} when the host lacks something
 */
export async function prepare(remote, bundle, { name, note, flag = '--ssh' }) {
  const refuse = (/** @type {string} */ expected) => {
    throw new UsageError(`${flag} ${name}: expected ${expected}`)
  }
  const node = (await remote.heard('node')).join(' ')
  const [npm, foreign, code, first] = await Promise.all(['npm', 'foreign', 'code', 'first'].map(remote.heard))
  if (node === '') refuse(`Node ${LEAST_NODE.join('.')} or newer there, ${first.join(' ')}`)
  if (foreign.length > 0) refuse(refusalOf(foreign))
  if (code[0] === 'there') return
  note(`copying Redline to ${name}, and its packages by npm …`)
  if (npm.length === 0) refuse(`npm beside ${node}, found none: install npm there`)
  // The program and the files that it writes are sent as one text, so that the host needs only Node, and nothing needs quoting.
  const call = `\nawait install(process.argv[2], ${JSON.stringify(bundle)})\n`
  await remote.give('/dev/fd/4', [readFileSync(INSTALL, 'utf8'), call])
  const [exit_code] = await remote.ask('install')
  if (exit_code !== '0') refuse(remote.words().trim().split('\n').at(-1) ?? '')
}

/** The part of this checkout that a host needs, named by hashes of its content. @typedef {ReturnType<typeof bundleOf>} Bundle */
export function bundleOf() {
  const names = FOLDERS.flatMap((folder) => {
    const entries = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    return entries.filter((name) => PROGRAM.test(name)).map((name) => path.posix.join(folder, name))
  })
  const textsOf = (/** @type {string[]} */ some) => {
    return Object.fromEntries(some.map((name) => [name, readFileSync(path.join(ROOT, name), 'utf8')]))
  }
  const hashOf = (/** @type {object} */ texts) => {
    return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
  }
  const isPacked = existsSync(path.join(ROOT, PACKED_LOCK))
  const [manifest, lock] = PACKAGES
  const packages = isPacked
    ? { ...textsOf([manifest]), [lock]: textsOf([PACKED_LOCK])[PACKED_LOCK] }
    : textsOf(PACKAGES)
  const files = { ...textsOf(names.sort()), ...packages }
  return { code: `code-${hashOf(files)}`, modules: `modules-${hashOf(packages)}`, files, packages }
}
