import { execFile } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { without } from './skip.js'

/**
 * @import { Host } from './hosts.js'
 * @import { ChildProcess } from 'node:child_process'
 */

const run = promisify(execFile)
const SSHD = '/usr/sbin/sshd'
const START_TIMEOUT_MS = 10_000

/**
 * A real sshd on a host, until the test ends: keys of its own, root logs in by key. Sessions have the PATH given, so that
 * a host without Node is one without it there.
 *
 * The settings of the client are a file, as users have theirs in ~/.ssh/config: `ssh -F configFile root@address`, of the
 * lab's verbs `--ssh-config FILE`.
 * @param {Host} host
 * @param {object} [options]
 * @param {Record<string, string>} [options.env] of each session
 * @param {string[]} [options.settings] lines of sshd_config; of two that set the same, the first counts, and these are first
 * @returns {Promise<Sshd>}
 */
export async function startSshd(host, { env = {}, settings = [] } = {}) {
  const folder = fs.mkdtempSync(path.join(host.folder, 'sshd-'))
  const [hostKey, identityFile, knownHostsFile, configFile, authorized, sshdConfig, shadow] = [
    'host-key',
    'client-key',
    'known_hosts',
    'ssh_config',
    'authorized_keys',
    'sshd_config',
    'shadow',
  ].map((name) => path.join(folder, name))
  await Promise.all([hostKey, identityFile].map(newKey))
  fs.copyFileSync(`${identityFile}.pub`, authorized)
  fs.writeFileSync(knownHostsFile, `${host.address} ${fs.readFileSync(`${hostKey}.pub`, 'utf8')}`)
  fs.writeFileSync(configFile, clientSettings({ identityFile, knownHostsFile }))
  fs.writeFileSync(
    sshdConfig,
    serverSettings({ hostKey, authorized, env: { PATH: host.path, ...env }, settings, address: host.address }),
  )

  // Without PAM, sshd lets nobody in whose password is locked, not by key either.
  fs.writeFileSync(shadow, fs.readFileSync('/etc/shadow', 'utf8').replace(/^root:[^:]*/m, 'root:*'), { mode: 0o600 })
  await host.run(['sh', '-ec', `mkdir -p /run/sshd; mount --bind ${shadow} /etc/shadow`])
  const child = host.spawn([SSHD, '-D', '-e', '-f', sshdConfig])
  await untilListening(host.address, child)
  return { identityFile, knownHostsFile, configFile, user: `root@${host.address}` }
}

/**
 * @typedef {object} Sshd
 * @property {string} identityFile key of the client
 * @property {string} knownHostsFile with the key of this host
 * @property {string} configFile for `ssh -F`, names the two
 * @property {string} user user@host
 */

/** Why there can be no sshd here; undefined: there can. */
export function withoutSshd() {
  return fs.existsSync(SSHD) ? without('ssh', '-V') : 'this needs sshd (apt-get install openssh-server)'
}

/** @param {string} file */
async function newKey(file) {
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
}

/** @param {{ identityFile: string, knownHostsFile: string }} files */
function clientSettings({ identityFile, knownHostsFile }) {
  return `Host *
  IdentityFile ${identityFile}
  IdentitiesOnly yes
  UserKnownHostsFile ${knownHostsFile}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`
}

/** @param {{ hostKey: string, authorized: string, env: Record<string, string>, settings: string[], address: string }} options */
function serverSettings({ hostKey, authorized, env, settings, address }) {
  const variables = Object.entries(env).map(([name, value]) => `"${name}=${value}"`)
  return `${settings.join('\n')}
ListenAddress ${address}
HostKey ${hostKey}
AuthorizedKeysFile ${authorized}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
Subsystem sftp internal-sftp
SetEnv ${variables.join(' ')}
`
}

/** @param {string} address @param {ChildProcess} child */
async function untilListening(address, child) {
  let words = ''
  child.stderr?.on('data', (chunk) => {
    words += chunk
  })
  for (const until = Date.now() + START_TIMEOUT_MS; child.exitCode === null && Date.now() < until; ) {
    const socket = net.connect(22, address)
    const isOpen = await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`expected sshd to start: ${words}`)
}
