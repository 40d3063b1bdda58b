/** Turns what ssh printed into one line that says what to do. @param {string} said @param {string} host @param {string} [flag] that named it */
export function explain(said, host, flag = '--ssh') {
  const lines = said.split('\n').map((line) => line.replace(/^ssh: /, '').trim())
  const [pattern, expected] = CAUSES.find(([one]) => one.test(said)) ?? DEFAULT
  const line = lines.find((one) => pattern.test(one)) || lines.findLast(Boolean) || 'no output'
  return `${flag} ${host}: expected ${expected({ line, said, ...addressOf(host) })}`
}

/** @typedef {[RegExp, (failure: { line: string, said: string, name: string, port?: string }) => string]} Cause line: the first that matches */

/** @type {Cause} */
const DEFAULT = [/(?!)/, ({ line }) => `ssh to get in, got: ${line}`]

/** In the order in which they explain one another. @type {Cause[]} */
const CAUSES = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED/,
    ({ said, name, port }) => {
      const file = /Offending .* key in (\S+)/.exec(said)?.[1] ?? 'known_hosts'
      const known = port ? `'[${name}]:${port}'` : name
      return `the host key that ${file} holds, got another one: if the host was reinstalled, forget the old key (ssh-keygen -R ${known}); if not, somebody else answers`
    },
  ],
  [
    /Host key verification failed|No \S+ host key is known/,
    ({ name, port }) => {
      const scan = `ssh-keyscan ${port ? `-p ${port} ` : ''}${name}`
      return `a host key that is known here, got an unknown one: compare its fingerprint (${scan} | ssh-keygen -lf -) with the one on the host's console, then keep it (${scan} >> ~/.ssh/known_hosts)`
    },
  ],
  [/Could not resolve hostname/, ({ line }) => `a host that can be found, got: ${line}`],
  [
    /Permission denied|Too many authentication failures|No more authentication methods/,
    ({ line }) =>
      `a key that the host takes, got: ${line}; ssh-add -l and IdentityFile list the keys that are offered, the host's authorized_keys those that are accepted`,
  ],
  [
    /connect to host|Connection (timed out|refused|closed|reset)|No route to host|banner exchange|kex_exchange/,
    ({ line }) =>
      `an sshd that answers, got: ${line}; is the host up, and its port open to this machine (security group, firewall)?`,
  ],
  [
    /Can't open user config file|Bad (configuration|owner)|terminating, \d+ bad/,
    ({ line }) => `a configuration that ssh can read, got: ${line}`,
  ],
]

/** What ssh-keyscan takes. Only a URL can hold a port, since an IPv6 address has colons of its own. @param {string} host */
function addressOf(host) {
  const url = /^ssh:\/\/(?:.*@)?\[?(.*?)\]?(?::(\d+))?\/?$/.exec(host)
  return { name: url?.[1] ?? host.replace(/^.*@/, ''), port: url?.[2] }
}
