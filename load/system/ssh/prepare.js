import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../command/errors.js'

/** @import { Remote } from './remote.js' */

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
 * The script of a connection to the API's host, for startRemote. What is there is used if nobody else may write it, and is not
 * old then. A version manager's Node is on PATH only in a login or an interactive shell; these do what their user had them do,
 * and are asked last. The agent notices by itself when it hears nothing; where there is no `timeout`, an installation does not.
 *
 * @param {Bundle} bundle
 */
export const scriptFor = ({ code, modules }) => ({
  setup: `
command -v timeout >/dev/null || timeout() { shift; "$@"; }
cache="\${XDG_CACHE_HOME:-$HOME/.cache}/redline"
node= first=
for how in "" -lc -lic; do
  if [ -z "$how" ]; then found=$(command -v node); else found=$("\${SHELL:-sh}" $how 'command -v node' </dev/null 2>/dev/null | tail -n 1); fi
  [ -x "$found" ] || continue
  version=$("$found" --version </dev/null)
  first="\${first:-got $version ($found)}"
  set -- $(echo "$version" | tr v. '  ')
  if [ "$1" -gt ${LEAST_NODE[0]} ] || { [ "$1" -eq ${LEAST_NODE[0]} ] && [ "$2" -ge ${LEAST_NODE[1]} ]; }; then node=$found && break; fi
done
[ -z "$node" ] || PATH="$(dirname "$node"):$PATH"
say npm $(command -v npm)
if [ -d "$cache/${code}" ] && ours "$cache" && touch -c "$cache/${code}" "$cache/${modules}"; then say code there; else say code missing; fi
say first "\${first:-found no node on PATH, nor in a login shell}"
say node "$node"
program=$(mktemp) && exec 4>"$program" 5<"$program" && rm "$program" || exit 1
# The installer has to clear up when the group is told to end, and this shell has to wait for it.
trap '' TERM
`,
  words: `
install) { "$node" --input-type=module - "$cache" <&5; say install $?; } & ;;
agent) cd "$cache/${code}" && exec "$node" load/targets/ssh/agent.js 4>&- 5<&- ;;
`,
  cleanup: 'kill -TERM 0; wait',
})

/**
 * Brings our programs to the host, unless they are there.
 *
 * @param {Remote} remote with the script above
 * @param {Bundle} bundle
 * @param {{ name: string, note: (text: string) => void }} options name: of the host
 * @throws {UsageError} when the host lacks something
 */
export async function prepare(remote, bundle, { name, note }) {
  const refuse = (/** @type {string} */ expected) => {
    throw new UsageError(`--ssh ${name}: expected ${expected}`)
  }
  const node = (await remote.heard('node')).join(' ')
  const [npm, code, first] = await Promise.all(['npm', 'code', 'first'].map(remote.heard))
  if (node === '') refuse(`Node ${LEAST_NODE.join('.')} or newer there, ${first.join(' ')}`)
  if (code[0] === 'there') return
  note(`copying Redline to ${name}, and its packages by npm …`)
  if (npm.length === 0) refuse(`npm beside ${node}, found none: install npm there`)
  // The program and what it writes go as one text: only Node is needed there, and nothing is quoted.
  const call = `await install({ cache: process.argv[2], ...${JSON.stringify(bundle)} })`
  const program = `${readFileSync(INSTALL, 'utf8')}
const { failed } = ${call}
if (failed) console.error(failed)
process.exitCode = failed ? 1 : 0
`
  await remote.give('/dev/fd/4', [program])
  const [exit_code] = await remote.ask('install')
  if (exit_code !== '0') refuse(remote.words().trim().split('\n').at(-1) ?? '')
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
