/** Turns what ssh printed into one line that says what to do. @param {string} said @param {string} host @param {string} [flag] that named it */
export function explain(said, host, flag = '--ssh') {
  const lines = said.split('\n').map((line) => line.replace(/^ssh: /, '').trim())
  const [pattern, expected] = CAUSES.find(([one]) => one.test(said)) ?? [NONE, 'ssh to get in, got: LINE']
  const file = /Offending .* key in (\S+)/.exec(said)?.[1] ?? 'known_hosts'
  const line = lines.find((one) => pattern.test(one)) || lines.findLast(Boolean) || 'no output'
  /** @type {Record<string, string>} */
  const words = { LINE: line, FILE: file, ...addressOf(host) }
  return `${flag} ${host}: expected ${expected.replace(/LINE|FILE|KNOWN|SCAN/g, (word) => words[word])}`
}

const NONE = /(?!)/

/** Causes, each before those that it explains. LINE: the first line that matches. @type {[RegExp, string][]} */
const CAUSES = [
  [
    /REMOTE HOST IDENTIFICATION HAS CHANGED/,
    'the host key that FILE holds, got another one: if the host was reinstalled, forget the old key (ssh-keygen -R KNOWN); if not, somebody else answers',
  ],
  [
    /Host key verification failed|No \S+ host key is known/,
    "a host key that is known here, got an unknown one: compare its fingerprint (SCAN | ssh-keygen -lf -) with the one on the host's console, then keep it (SCAN >> ~/.ssh/known_hosts)",
  ],
  [/Could not resolve hostname/, 'a host that can be found, got: LINE'],
  [
    /Permission denied|Too many authentication failures|No more authentication methods/,
    "a key that the host takes, got: LINE; ssh-add -l and IdentityFile list the keys that are offered, the host's authorized_keys those that are accepted",
  ],
  [
    /connect to host|Connection (timed out|refused|closed|reset)|No route to host|banner exchange|kex_exchange/,
    'an sshd that answers, got: LINE; is the host up, and its port open to this machine (security group, firewall)?',
  ],
  [
    /Can't open user config file|Bad (configuration|owner)|terminating, \d+ bad/,
    'a configuration that ssh can read, got: LINE',
  ],
]

/** The host for ssh-keygen and ssh-keyscan. Only a URL may have a port, since IPv6 addresses contain colons. @param {string} host */
function addressOf(host) {
  const name = nameOf(host)
  const port = URL_OF_SSH.exec(host)?.[2]
  return { KNOWN: port ? `'[${name}]:${port}'` : name, SCAN: `ssh-keyscan ${port ? `-p ${port} ` : ''}${name}` }
}

const URL_OF_SSH = /^ssh:\/\/(?:.*@)?\[?(.*?)\]?(?::(\d+))?\/?$/

/** The name or address of a host as ssh takes it: NAME, USER@NAME or ssh://USER@NAME:PORT. @param {string} host */
export function nameOf(host) {
  return URL_OF_SSH.exec(host)?.[1] ?? host.replace(/^.*@/, '')
}
