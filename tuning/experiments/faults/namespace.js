import { leashed } from '../../../sql/leash.js'

/** Of which each connection to the same address takes one. */
const PORTS = '40000 40063'

/** Loopback alone, and few ports. */
const SET_UP = ['ip link set lo up', `echo "${PORTS}" > /proc/sys/net/ipv4/ip_local_port_range`, 'exec "$@"'].join(
  ' && ',
)

/** Inside, Postgres runs as whom it runs outside. */
const asOneself = () => [
  'unshare',
  '--user',
  `--map-user=${process.getuid?.()}`,
  `--map-group=${process.getgid?.()}`,
  '--',
]

/**
 * Puts a command into a network namespace of its own, with few ports. It goes with its last process.
 *
 * @param {string[]} command program and arguments
 * @returns {string[]} program and arguments; fails where this user may make no namespace
 */
export function withFewPorts(command) {
  const isRoot = process.getuid?.() === 0
  // A new user namespace takes the leash off that the command may have been put on.
  const inner = isRoot ? command : [...asOneself(), ...leashed(command, { signal: 'KILL' })]
  return [
    'unshare',
    ...(isRoot ? [] : ['--user', '--map-root-user']),
    '--net',
    '--',
    'sh',
    '-c',
    SET_UP,
    'sh',
    ...inner,
  ]
}
