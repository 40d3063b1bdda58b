/** Terminals are at least this wide. */
const WIDTH = 96

/**
 * A paragraph in lines that fit.
 *
 * @param {string} text
 * @param {string} [indent] of every line
 */
export function wrapped(text, indent = '') {
  return text
    .split('\n')
    .map((line) => (line.startsWith('|') ? line : wrappedLine(line, indent)))
    .join('\n')
}

/** @param {string} line @param {string} indent */
function wrappedLine(line, indent) {
  const lines = ['']
  for (const word of line.split(' ')) {
    const last = lines[lines.length - 1]
    if (last !== '' && indent.length + last.length + 1 + word.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines.map((one) => indent + one).join('\n')
}

/**
 * @param {string} text with {name}
 * @param {Record<string, string>} figures
 */
export function filled(text, figures) {
  return text.replace(/\{(\w+)\}/g, (_, name) => figures[name] ?? '…')
}

/**
 * Bold on a terminal that shows it; it says itself whether it does (NO_COLOR among others).
 *
 * @param {NodeJS.WriteStream} stream
 * @returns {(text: string) => string}
 */
export function boldOn(stream) {
  const shows = stream.isTTY && stream.hasColors()
  return (text) => (shows ? `\u001b[1m${text}\u001b[22m` : text)
}
