/** Words of the shell before a command, which are not the command. */
const PREFIX = /^(?:(?:if|then|else|elif|while|until|do|time|!|\{|nice -n \d+)\s+|\w+=(?:'[^']*'|"[^"]*"|[^\s'"])*\s+)/
const KEYWORDS = ['', 'fi', 'done', 'then', 'do', 'else', '}', '{']

/**
 * The commands that a shell script runs, without assignments before them and redirections behind; of `bash -c '…'` and of the
 * script's own functions that run their arguments (`"$@"`), the commands that these are given. What comments, here-documents and
 * the words of other commands say is none. Control flow is ignored.
 * @param {string} script
 * @returns {string[]}
 */
export function commandsOf(script) {
  const text = script.replace(/\\\n\s*/g, '').replace(/<<-?\s*'?(\w+)'?(.*)\n[\s\S]*?\n\s*\1(?=\n|$)/g, '$2')
  const functions = [...text.matchAll(/^(\w+)\(\) \{(.*\}$|[\s\S]*?^\}$)/gm)].map(([, name, body]) => ({
    name,
    body: split(body),
  }))
  const runners = functions
    .filter(({ body }) => body.includes('"$@"'))
    .map(({ name, body }) => `${name}${' \\S+'.repeat(body.filter((command) => command === 'shift').length)}`)
  const wrapper = runners.length > 0 ? new RegExp(`^(?:${runners.join('|')}) `) : /^(?!)/
  return split(text).flatMap((command) => {
    let inner = command
    while (wrapper.test(inner)) inner = inner.replace(wrapper, '')
    const [, quoted] = /^(?:ba)?sh -\w*c '([^']*)'/.exec(inner) ?? []
    return quoted === undefined ? inner : split(quoted)
  })
}

/** @param {string} text */
function split(text) {
  return splitOutsideQuotes(text).flatMap((part) => {
    let command = part.trim()
    while (PREFIX.test(command)) command = command.replace(PREFIX, '')
    command = command.replace(/\s*\d?>>?(?:&\d|\s*(?:"[^"]*"|[^\s"]+))/g, '').trim()
    return KEYWORDS.includes(command) ? [] : [command]
  })
}

/** Parts between `;`, `&`, `|` and ends of lines, without comments. @param {string} text */
function splitOutsideQuotes(text) {
  const parts = ['']
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (quote === '' && char === '#' && /\s/.test(text[i - 1] ?? ' ')) {
      while (i < text.length && text[i] !== '\n') i++
      parts.push('')
      continue
    }
    if (quote === '' && /[;|\n]/.test(char)) parts.push('')
    else if (quote === '' && char === '&' && text[i - 1] !== '>' && text[i + 1] !== '>') parts.push('')
    else parts[parts.length - 1] += char
    if (char === quote) quote = ''
    else if (quote === '' && (char === "'" || char === '"')) quote = char
  }
  return parts
}
