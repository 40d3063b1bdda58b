/** For ssh: no question is asked, nothing of ours is lent to the host, and a line that is dead is noticed within 15 s. */
export const SSH_OPTIONS = [
  ...['BatchMode=yes', 'ConnectTimeout=10', 'ServerAliveInterval=5', 'ServerAliveCountMax=2'],
  ...['RequestTTY=no', 'RemoteCommand=none', 'ForwardAgent=no', 'ForwardX11=no'],
]

/** As arguments of ssh. @param {string[]} options such as Name=value */
export function asArguments(options) {
  return options.flatMap((option) => ['-o', option])
}

/** For a POSIX shell. @param {string} text */
export function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}
