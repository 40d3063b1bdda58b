import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import getPort from 'get-port'
import { UsageError } from '../../command/errors.js'
import { isLoopbackName } from '../../system/addresses.js'
import { nameOf } from '../../system/ssh/failures.js'
import { refusalOf, startRemote } from '../../system/ssh/remote.js'
import { DRIVERS } from '../drivers/index.js'
import { binary } from '../drivers/vegeta/program.js'

/**
 * @import { Remote } from '../../system/ssh/remote.js'
 * @import { Origin } from '../drivers/index.js'
 * @import { AskedOrigin } from '../../report/record.js'
 */

/**
 * Prepares the origin of a run's load.
 * @param {{ driver: string, url?: string | null, sides?: Record<string, { url: string | null }> } & AskedOrigin} plan
 * @param {{ signal: AbortSignal, progress: { note: (text: string) => void } }} io @returns {Promise<OpenOrigin>}
 * @throws {UsageError} if the origin is unusable
 * @typedef {{ hosts: LoadHost[], of: (driver: string) => Origin }} OpenOrigin hosts: empty for this machine
 */
export async function openOrigin(plan, { signal, progress }) {
  const { driver, url, sides = {}, load_hosts: hosts, ssh_config = null, local_addresses } = plan
  for (const host of local_addresses ?? []) {
    await getPort({ host }).catch((error) => {
      throw new UsageError(`--local-addresses: expected addresses of this machine, got ${host} (${error.code})`)
    })
  }
  const others = hosts?.filter((host) => !isLoopbackName(nameOf(host))) ?? []
  const names = [url, ...Object.values(sides).map((side) => side.url)].map((one) => (one ? new URL(one).hostname : ''))
  const own = names.find(isLoopbackName)
  if (own && others.length > 0)
    throw new UsageError(
      `--load-hosts: expected a URL that reaches the service from ${others.join(' and ')}, got ${own}, which is that host itself`,
    )
  const load_hosts = hosts && (await prepareHosts({ driver, hosts, config: ssh_config, signal, note: progress.note }))
  const origin = { ...(load_hosts && { load_hosts, ssh_config }), ...(local_addresses && { local_addresses }) }
  // The closed loop before a search is only a first guess, so this machine sends it.
  return { hosts: load_hosts ?? [], of: (name) => (name === driver ? origin : {}) }
}

/**
 * Connects to the load hosts and makes sure that each has the driver's program.
 * @param {{ driver: string, hosts: string[], config: string | null, signal: AbortSignal, note: (text: string) => void }} run
 * @throws {UsageError} with one line: what to change on which host
 */
export async function prepareHosts({ driver, hosts, config, signal, note }) {
  note(`making ${hosts.join(' and ')} ready …`)
  const version = await DRIVERS[driver].version()
  const prepare = driver === 'locust' ? prepareLocust : prepareVegeta
  const prepared = hosts.map((host) => onHost(host, config, signal, prepare(host, version, note)))
  await Promise.allSettled(prepared)
  signal.throwIfAborted()
  return Promise.all(prepared).catch((error) => {
    throw new UsageError(error.message)
  })
}

/** Shell script that reports the facts of a host that matter to a generator. */
const LOOK = `
command -v timeout >/dev/null || { echo 'expected timeout (coreutils) on PATH, found none' >&2; exit 1; }
say system $(uname -s) $(uname -m)
say cores $(getconf _NPROCESSORS_ONLN)
say nofile $(ulimit -Sn) $(ulimit -Hn)
say ports $(cat /proc/sys/net/ipv4/ip_local_port_range)
say reuse $(cat /proc/sys/net/ipv4/tcp_tw_reuse) $(cat /proc/sys/net/ipv4/tcp_timestamps)
say waiting $(sed -n 's/^TCP:.* tw \\([0-9]*\\).*/\\1/p' /proc/net/sockstat)
`

/**
 * @param {string} host as ssh takes it @param {string | null} config @param {AbortSignal} signal @param {Preparation} preparation
 * @typedef {Awaited<ReturnType<typeof onHost>>} LoadHost
 * @typedef {{ setup: string, words?: string, cleanup?: string, finish: (remote: Remote, system: string) => Promise<string> }} Preparation
 *   scripts for a remote; finish: returns the path of the program there
 */
async function onHost(host, config, signal, { finish, ...scripts }) {
  const remote = startRemote(host, { flag: '--load-hosts', config, signal, ...scripts, setup: LOOK + scripts.setup })
  try {
    const numbers = async (/** @type {string} */ word) => {
      const found = await remote.heard(word)
      return found.map((text) => (text === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(text)))
    }
    const system = (await remote.heard('system')).join(' ')
    const [cores] = await numbers('cores')
    const [soft, hard] = await numbers('nofile')
    const [first, last] = await numbers('ports')
    const [reuse, timestamps] = await numbers('reuse')
    const [waiting = null] = await numbers('waiting')
    const facts = {
      generator_nofile: { soft, hard },
      ephemeral_ports: last >= first ? last - first + 1 : null,
      time_wait: waiting,
      tw_reuse: timestamps > 0 ? reuse : 0,
    }
    return { host, program: await finish(remote, system), system, cores, facts }
  } finally {
    await remote.close()
  }
}

/** @param {string} host @param {string} expected completes "expected …" */
function refusal(host, expected) {
  return new UsageError(`--load-hosts ${host}: expected ${expected}`)
}

/**
 * Uses the host's own vegeta if it is the same version; otherwise copies ours, under a name derived from its content.
 * @param {string} host @param {string} version @param {(text: string) => void} note @returns {Preparation}
 */
function prepareVegeta(host, version, note) {
  const bytes = readFileSync(binary())
  const wanted = `Version: ${version}`
  const name = `vegeta-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`
  const part = `${name}.${randomUUID()}`
  return {
    setup: `
program=$(command -v vegeta)
if [ -n "$program" ] && "$program" -version </dev/null | grep -q '^${wanted}$'; then say found there "$program"
elif [ "$foreign" ]; then say found foreign $foreign
else
  mkdir -p "$cache" && cd "$cache" || exit 1
  program="$cache/${name}"
  if [ -x "$program" ] && ours "$program"; then say found there "$program"; else say found missing "$program"; fi
fi
`,
    words: `
keep) [ "$(wc -c <${part})" -eq ${bytes.length} ] && chmod 755 ${part} && mv ${part} ${name} && say keep ;;
try) say try $("$program" -version 2>&1 </dev/null | head -n 1) ;;
`,
    cleanup: `rm -f "$cache/${part}"`,

    async finish(remote, system) {
      const [found, ...words] = await remote.heard('found')
      if (found === 'foreign') throw refusal(host, refusalOf(words))
      const program = words.join(' ')
      if (found === 'missing') {
        const here = `${os.type()} ${os.machine()}`
        const mend = `put a vegeta ${version} of its own on PATH there`
        const expected = `${here}, as this machine, to copy vegeta there`
        if (system !== here) throw refusal(host, `${expected}, got ${system}: ${mend}`)
        note(`copying vegeta to ${host} …`)
        await remote.give(part, [bytes])
        await remote.ask('keep')
      }
      const runs = (await remote.ask('try')).join(' ')
      if (runs === wanted) return program
      throw refusal(host, `vegeta ${version} to run there, got: ${runs || 'nothing'} (${program})`)
    },
  }
}

/** @param {string} host @param {string} version @returns {Preparation} */
function prepareLocust(host, version) {
  return {
    setup: `
program=$(command -v locust)
say locust "$program"
[ -n "$program" ] && say version $("$program" --version </dev/null 2>&1 | tail -n 1)
`,
    async finish(remote) {
      const program = (await remote.heard('locust')).join(' ')
      const install = `pip install locust==${version}`
      if (program === '') throw refusal(host, `locust on PATH there, found none: ${install}`)
      const words = (await remote.heard('version')).join(' ')
      if (words.startsWith(`locust ${version} `)) return program
      throw refusal(host, `locust ${version}, as here, got ${words}: ${install}`)
    },
  }
}
