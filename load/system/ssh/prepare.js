import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../command/errors.js'
import { quoted } from './remote.js'

/** @import { Connection } from './connection.js' */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** What runs on a host: programs alone. Results, .env, .npmrc and .git are nobody's business there. */
const FOLDERS = ['api', 'load', 'sql', 'tuning']
const PROGRAM = /\.(js|sql)$/

/** What npm needs to bring the packages. */
const PACKAGES = ['package.json', 'package-lock.json']

/** engines in package.json. */
const LEAST_NODE = [20, 19]
const INSTALL = fileURLToPath(new URL('install.js', import.meta.url))

/**
 * For any POSIX shell. What is there is used if nobody else may write it, and is not old then. A version manager's Node is on
 * PATH only in a login or an interactive shell; these do what their user had them do, and are asked last.
 *
 * @param {Bundle} bundle
 */
const look = ({ code, modules }) => `
echo
cache="\${XDG_CACHE_HOME:-$HOME/.cache}/redline"
echo "cache $cache"
[ -d "$cache/${code}" ] && [ -O "$cache" ] && [ -z "$(find -H "$cache" -prune \\( -perm -020 -o -perm -002 \\))" ] &&
  touch -c "$cache/${code}" "$cache/${modules}" && echo "code $cache/${code}"
for how in "" -lc -lic; do
  if [ -z "$how" ]; then node=$(command -v node); else node=$("\${SHELL:-sh}" $how 'command -v node' </dev/null 2>/dev/null | tail -n 1); fi
  [ -x "$node" ] || continue
  echo "node $("$node" --version </dev/null) $node"
  PATH="$(dirname "$node"):$PATH" command -v npm | sed 's/^/npm /'
  "$node" -e 'const [major, minor] = process.versions.node.split(".")
process.exit(major > ${LEAST_NODE[0]} || (major == ${LEAST_NODE[0]} && minor >= ${LEAST_NODE[1]}) ? 0 : 1)' </dev/null && break
done
exit 0
`

/**
 * Brings our programs to the host, unless they are there.
 *
 * @param {Connection} connection @param {{ name: string, note: (text: string) => void }} options
 * @returns {Promise<string>} the command there that runs the agent
 * @throws {UsageError} when the host lacks something
 */
export async function prepare(connection, { name, note }) {
  const bundle = bundleOf()
  const { code, stdout, stderr } = await connection.run('sh', look(bundle))
  const got = stderr.trim() || `code ${code}`
  if (code !== 0) throw new UsageError(`--ssh ${name}: expected a POSIX shell there, got: ${got}`)
  const { cache, there, node, hasNpm } = found(stdout, name)
  // Node with its own folder on PATH, where its npm is.
  const program = `env PATH=${quoted(path.posix.dirname(node))}:"$PATH" ${quoted(node)}`
  if (!there) {
    note(`copying Redline to ${name}, and its packages by npm …`)
    if (!hasNpm) throw new UsageError(`--ssh ${name}: expected npm beside ${node}, found none: install npm there`)
    await send(connection, name, program, { ...bundle, cache })
  }
  return `cd ${quoted(path.posix.join(cache, bundle.code))} && exec ${program} load/targets/ssh/agent.js`
}

/** Pure. @param {string} output of look @param {string} name of the host */
export function found(output, name) {
  const values = (/** @type {string} */ word) => {
    return output.split('\n').flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []))
  }
  const nodes = values('node').map((value) => /^(?<version>\S*) (?<file>.*)$/.exec(value)?.groups ?? {})
  const usable = nodes.find(({ version }) => isNewEnough(version))
  if (!usable) {
    const [first] = nodes
    const got = first ? `got ${first.version} (${first.file})` : 'found no node on PATH, nor in a login shell'
    throw new UsageError(`--ssh ${name}: expected Node ${LEAST_NODE.join('.')} or newer there, ${got}`)
  }
  const there = values('code').length > 0
  return { cache: values('cache')[0], there, node: usable.file, hasNpm: values('npm').length > 0 }
}

/** @param {string} version such as v20.19.0 */
function isNewEnough(version) {
  const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version) ?? []
  return Number(major) > LEAST_NODE[0] || (Number(major) === LEAST_NODE[0] && Number(minor) >= LEAST_NODE[1])
}

/**
 * The program and what it writes go as one text to Node's standard input: only Node is needed there, and nothing is quoted.
 *
 * @param {Connection} connection
 * @param {string} name of the host
 * @param {string} node command that runs it there
 * @param {Bundle & { cache: string }} bundle
 */
async function send(connection, name, node, bundle) {
  const call = `console.log('\\n' + JSON.stringify(await install(${JSON.stringify(bundle)})))`
  const program = `${readFileSync(INSTALL, 'utf8')}\n${call}\n`
  const { stdout, stderr } = await connection.run(`${node} --input-type=module -`, program)
  const answer = stdout.split('\n').findLast((line) => line.startsWith('{'))
  const last = stderr.trim().split('\n').at(-1)
  if (!answer) throw new UsageError(`--ssh ${name}: expected Redline to be copied there, got: ${last}`)
  const { failed } = JSON.parse(answer)
  if (failed) throw new UsageError(`--ssh ${name}: expected ${failed}`)
}

/** The part of this checkout that a host needs, and names for it that change with it. @typedef {ReturnType<typeof bundleOf>} Bundle */
export function bundleOf() {
  const names = FOLDERS.flatMap((folder) => {
    const entries = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    return entries.filter((name) => PROGRAM.test(name)).map((name) => path.posix.join(folder, name))
  })
  const textsOf = (/** @type {string[]} */ some) => {
    return Object.fromEntries(some.map((name) => [name, readFileSync(path.join(ROOT, name), 'utf8')]))
  }
  const hashOf = (/** @type {Record<string, string>} */ texts) => {
    return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
  }
  const packages = textsOf(PACKAGES)
  const files = { ...textsOf(names.sort()), ...packages }
  return { code: `code-${hashOf(files)}`, modules: `modules-${hashOf(packages)}`, files, packages }
}
