import { execFile, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { leashed } from '../../sql/leash.js'
import { given } from './postgres.js'
import { without, withoutRoot } from './skip.js'

/** @import { ChildProcess } from 'node:child_process' */

const execute = promisify(execFile)

/** N of 10.99.N.0/24. The test itself is .1 there, the hosts follow. */
const NETS = 255

/** Each host has its own of these: what lies there is not the lab's. */
const OWN_FOLDERS = ['/root', '/tmp', '/var/tmp', '/run']

/** What a host needs of ours: this checkout, the Node that runs it, and the data folder that each Postgres is copied from. */
const PROGRAMS = /** @type {Record<string, string>} */ ({
  checkout: fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, ''),
  node: path.dirname(path.dirname(fs.realpathSync(process.execPath))),
  data: given()?.initialised?.folder ?? '/nowhere',
})

/** What we have for ourselves alone; root is at home in /root there. */
const OUR_VARIABLES = ['NODE_OPTIONS', 'TMPDIR', 'SSH_AUTH_SOCK', 'DATABASE_URL']
const ENVIRONMENT = ['env', ...OUR_VARIABLES.flatMap((name) => ['-u', name]), 'HOME=/root']

/** Namespaces of a host. */
const KINDS = ['--net', '--pid', '--mount', '--uts']

/**
 * Hosts with a real network between them, until the test ends: namespaces of Linux behind one bridge. Each has an address,
 * a name, processes and a /proc of its own, and folders of its own: a pid or a path of one means nothing to another.
 *
 * Nothing of it outlives us: the kernel removes namespaces, bridge and wires with the last process in them, and the first
 * process of each host is on our leash.
 * @param {any} t
 * @param {string[]} names
 * @param {{ seen?: string[] }} [options] seen: folders of ours that each host sees, where it would have its own
 * @returns {Promise<Record<string, Host>>}
 */
export async function openHosts(t, names, { seen = [] } = {}) {
  // On a disk, since Postgres may run there; seen by all hosts under the same path, for keys and settings.
  const folder = fs.mkdtempSync('/var/tmp/redline-hosts-')
  fs.chmodSync(folder, 0o711)
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))

  const programs = placesOf(folder)
  const bridge = await startNamespace(t, ['--net'], '')
  await run([...inNetworkOf(bridge), 'ip', 'link', 'add', 'name', 'bridge', 'up', 'type', 'bridge'])
  const net = await plugOurselves(t, bridge)
  /** @type {Record<string, Host>} */
  const hosts = {}
  for (const [i, name] of names.entries()) {
    hosts[name] = await openHost(t, {
      name,
      address: `${net}.${2 + i}`,
      bridge,
      folder,
      seen: [folder, ...seen],
      programs,
    })
  }
  return hosts
}

/**
 * @typedef {object} Host
 * @property {string} name
 * @property {string} address
 * @property {string} gateway address of the test itself
 * @property {string} folder of its own, under the same path everywhere
 * @property {string} checkout this one, as seen there
 * @property {string} data folder that a Postgres is copied from, as seen there
 * @property {string} node the program, as seen there
 * @property {string} path to look for programs there
 * @property {(argv: string[]) => string[]} command that runs there, in `/`. A signal to it ends the way in, and the process
 *   with it by SIGKILL; any other reaches that by its pid there alone
 * @property {(argv: string[]) => string[]} inNetwork the same with nothing but the network of that host: files and processes are
 *   ours, and signals arrive. For the lab
 * @property {(argv: string[]) => Promise<string>} run to the end; what it prints
 * @property {(argv: string[]) => ChildProcess} spawn until the test ends
 * @property {() => { pid: number, command: string }[]} processes alive there, with their pids there, but its first one
 * @property {(state: 'up' | 'down') => Promise<unknown>} wire down: as if it had been pulled out
 */

/**
 * Where hosts see our programs. One that lies in a folder of which each host has its own is seen elsewhere, so that the
 * folders of a host hold the same wherever this checkout is.
 * @param {string} folder that all hosts see
 * @returns {typeof PROGRAMS}
 */
function placesOf(folder) {
  const places = Object.entries(PROGRAMS).map(([name, place]) => {
    const isHidden = OWN_FOLDERS.some((own) => `${place}/`.startsWith(`${own}/`))
    return [name, isHidden ? path.join(folder, name) : place]
  })
  for (const [name, place] of places) if (place === path.join(folder, name)) fs.mkdirSync(place)
  return Object.fromEntries(places)
}

/** Why there can be no hosts here; undefined: there can. */
export function withoutHosts() {
  const script = 'ip link add name bridge type bridge && ip link add name wire type veth peer name eth0'
  return withoutRoot() ?? without('unshare', '--fork', ...KINDS, 'sh', '-c', script)
}

/**
 * @param {any} t
 * @param {{ name: string, address: string, bridge: number, folder: string, seen: string[], programs: typeof PROGRAMS }} options
 * @returns {Promise<Host>}
 */
async function openHost(t, { name, address, bridge, folder, seen, programs }) {
  const own = path.join(folder, name)
  const pid = await startNamespace(t, KINDS, ownPlaces(name, own, seen, programs))
  const inBridge = inNetworkOf(bridge)
  const wire = `wire-${address.split('.').at(-1)}`
  await run([
    'ip',
    'link',
    'add',
    'name',
    'eth0',
    'netns',
    `${pid}`,
    'type',
    'veth',
    'peer',
    wire,
    'netns',
    `${bridge}`,
  ])
  await run([...inBridge, 'ip', 'link', 'set', wire, 'up', 'master', 'bridge'])
  const up = `ip link set lo up; ip address add ${address}/24 dev eth0; ip link set eth0 up`
  await run([...inNetworkOf(pid), 'sh', '-ec', up])

  const into = ['nsenter', `--target=${pid}`, '--net', '--pid', '--mount', '--uts', '--']
  const node = path.join(programs.node, path.relative(PROGRAMS.node, fs.realpathSync(process.execPath)))
  const onPath = programs.node === PROGRAMS.node ? `${process.env.PATH}` : `${path.dirname(node)}:${process.env.PATH}`
  const environment = [...ENVIRONMENT, `PATH=${onPath}`]
  const command = (/** @type {string[]} */ argv) => [...into, ...leashed([...environment, ...argv], { signal: 'KILL' })]
  return {
    name,
    address,
    gateway: address.replace(/\d+$/, '1'),
    folder: own,
    checkout: programs.checkout,
    data: programs.data,
    node,
    path: onPath,
    command,
    inNetwork: (argv) => [...inNetworkOf(pid), ...argv],
    run: (argv) => run(command(argv)),
    spawn: (argv) => spawnUntilEnd(t, command(argv)),
    processes: () => processesIn(`/proc/${pid}/root/proc`),
    wire: (state) => run([...inBridge, 'ip', 'link', 'set', wire, state]),
  }
}

/**
 * The first process of a namespace tells its pid as we see it, and then waits only. As it ignores SIGCHLD, the kernel
 * clears away what others leave behind there, as any init does.
 * @param {any} t
 * @param {string[]} kinds
 * @param {string} script run by it first
 * @returns {Promise<number>} its pid
 */
async function startNamespace(t, kinds, script) {
  const first = `read pid rest < /proc/self/stat\n${script}\ntrap '' CHLD\necho $pid\nexec sleep infinity > /dev/null`
  const namespace = ['unshare', '--fork', '--kill-child=KILL', ...kinds, 'sh', '-ec', first]
  const [program, ...args] = leashed(namespace, { signal: 'KILL' })
  const child = spawn(program, args, { stdio: 'pipe' })
  const words = child.stderr.setEncoding('utf8').toArray()
  const exited = once(child, 'exit')
  const [said] = await Promise.race([once(child.stdout, 'data'), exited])
  const pid = Number(said)
  if (!(pid > 0)) throw new Error(`expected a namespace to start: ${(await words).join('')}`)
  // Its end is the end of all that runs there, and unshare ends after it.
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(pid, 'SIGKILL')
    await exited
  })
  return pid
}

/** @param {string} name @param {string} own @param {string[]} seen @param {typeof PROGRAMS} programs */
function ownPlaces(name, own, seen, programs) {
  const moved = Object.entries(programs).filter(([key, place]) => place !== PROGRAMS[key])
  const places = OWN_FOLDERS.map((folder) => [own + folder, folder])
  return [
    `hostname ${name}`,
    'mount -t proc proc /proc',
    `mkdir -p ${places.map(([there]) => there).join(' ')} ${seen.map((one) => own + one).join(' ')}`,
    `chmod 711 ${own} ${own}/root && chmod 1777 ${own}/tmp ${own}/var/tmp`,
    ...moved.map(([key, place]) => `mount --bind ${PROGRAMS[key]} ${place}`),
    ...seen.map((one) => `mount --rbind ${one} ${own}${one}`),
    ...places.map(([there, here]) => `mount --rbind ${there} ${here}`),
  ].join('\n')
}

/**
 * A wire from where the test runs to the bridge. Its name stands for the net: who makes it has that net for himself.
 * @param {any} t @param {number} bridge
 * @returns {Promise<string>} such as 10.99.7
 */
async function plugOurselves(t, bridge) {
  const first = randomInt(NETS)
  for (let i = 0; i < NETS; i++) {
    const net = (first + i) % NETS
    const wire = `redline-${net}`
    const made = await run([
      'ip',
      'link',
      'add',
      'name',
      wire,
      'type',
      'veth',
      'peer',
      'wire-1',
      'netns',
      `${bridge}`,
    ]).catch((error) => {
      if (!/File exists/.test(error.stderr)) throw error
    })
    if (made === undefined) continue
    t.teardown(() => run(['ip', 'link', 'delete', wire]))
    await run([...inNetworkOf(bridge), 'ip', 'link', 'set', 'wire-1', 'up', 'master', 'bridge'])
    await run(['ip', 'address', 'add', `10.99.${net}.1/24`, 'dev', wire])
    await run(['ip', 'link', 'set', wire, 'up'])
    return `10.99.${net}`
  }
  throw new Error(`expected one of ${NETS} nets to be free, found none: ip link shows who has them`)
}

/** @param {number} pid */
function inNetworkOf(pid) {
  return ['nsenter', `--target=${pid}`, '--net', '--']
}

/** @param {any} t @param {string[]} command */
function spawnUntilEnd(t, [program, ...args]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return child
}

/** @param {string} proc */
function processesIn(proc) {
  return fs.readdirSync(proc).flatMap((pid) => {
    if (!/^\d+$/.test(pid) || pid === '1') return []
    try {
      const isZombie = / Z /.test(fs.readFileSync(`${proc}/${pid}/stat`, 'utf8').replace(/.*\)/s, ''))
      const command = fs.readFileSync(`${proc}/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
      return isZombie ? [] : [{ pid: Number(pid), command }]
    } catch {
      // It has ended between the two looks.
      return []
    }
  })
}

/** @param {string[]} command */
async function run([program, ...args]) {
  return (await execute(program, args, { maxBuffer: 2 ** 26 })).stdout
}
