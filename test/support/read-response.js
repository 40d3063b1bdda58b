import { ProtocolError, ResponseReader } from '../../load/generators/drivers/response.js'

/**
 * What a reader makes of bytes that arrive in parts, and of the end of the connection behind them.
 * @param {string[]} parts
 * @param {ConstructorParameters<typeof ResponseReader>[0]} [options]
 */
export function readResponse(parts, options) {
  const reader = new ResponseReader(options)
  for (const [i, part] of parts.entries()) {
    const answer = reader.read(Buffer.from(part, 'latin1'))
    if (answer instanceof ProtocolError) return 'malformed'
    // What follows an answer belongs to the next one.
    if (answer) return i === parts.length - 1 ? answer : 'more'
  }
  return reader.end() ?? 'cut'
}
