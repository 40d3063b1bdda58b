/** What ssh said, as one line that tells what to do. @param {string} said @param {string} host @param {string} [flag] that named it */
export function explain(said, host, flag = '--ssh') {
  const [, lineOf] = CAUSES.find(([pattern]) => pattern.test(said)) ?? []
  const last = said.trim().split('\n').at(-1)?.trim()
  return `${flag} ${host}: expected ${lineOf?.(said, host) ?? `ssh to get in, got: ${last || 'no word of it'}`}`
}

/** In the order in which they explain one another. @type {[RegExp, (said: string, host: string) => string][]} */
const CAUSES = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED/,
    (said, host) => {
      const where = /Offending .* key in (\S+)/.exec(said)?.[1] ?? 'known_hosts'
      const { name, port } = addressOf(host)
      return `the host key that ${where} holds, got another one: if the host was made anew, forget the old key (ssh-keygen -R ${port ? `'[${name}]:${port}'` : name}); if not, somebody else answers`
    },
  ],
  [
    /Host key verification failed|No \S+ host key is known/,
    (_, host) => {
      const { name, port } = addressOf(host)
      const scan = `ssh-keyscan ${port ? `-p ${port} ` : ''}${name}`
      return `a host key that is known here, got one that is not: compare its fingerprint (${scan} | ssh-keygen -lf -) with what the host's console says, then keep it (${scan} >> ~/.ssh/known_hosts)`
    },
  ],
  [
    /Could not resolve hostname/,
    (said) => `a host that can be found, got: ${lineWith(said, 'Could not resolve hostname')}`,
  ],
  [
    /Permission denied|Too many authentication failures|No more authentication methods/,
    (said) =>
      `a key that the host takes, got: ${lineWith(said, 'Permission denied', 'authentication')}; ssh-add -l and IdentityFile tell which keys are offered, the host's authorized_keys which are taken`,
  ],
  [
    /connect to host|Connection (timed out|refused|closed|reset)|No route to host|banner exchange|kex_exchange/,
    (said) =>
      `an sshd that answers, got: ${lineWith(said, 'connect to host', 'Connection', 'route', 'exchange')}; is the host up, and its port open to this machine (security group, firewall)?`,
  ],
  [
    /Can't open user config file|Bad (configuration|owner)|terminating, \d+ bad/,
    (said) => `a configuration that ssh can read, got: ${lineWith(said, 'Bad', 'config')}`,
  ],
]

/** @param {string} said @param {string[]} parts the line that holds the first of them that is there */
function lineWith(said, ...parts) {
  const lines = said.split('\n').map((line) => line.replace(/^ssh: /, '').trim())
  const found = parts.map((part) => lines.findLast((line) => line.includes(part)))
  return found.find(Boolean) ?? lines.at(-1)
}

/** What ssh-keyscan takes; a port stands in a URL alone, since an IPv6 address has colons of its own. @param {string} host */
function addressOf(host) {
  const url = /^ssh:\/\/(?:.*@)?\[?(.*?)\]?(?::(\d+))?\/?$/.exec(host)
  return url ? { name: url[1], port: url[2] } : { name: host.replace(/^.*@/, ''), port: undefined }
}
