import { Readable } from 'node:stream'

/**
 * @import { IncomingMessage } from 'node:http'
 * @import { Socket } from 'node:net'
 */

/** Smallest capacity that is worth allocating once a body comes in pieces. */
const MIN_CAPACITY_BYTES = 1024

/** Pieces that any body may come in, and further ones by its length. */
const FREE_PIECES = 128
const BYTES_PER_PIECE = 64

/**
 * Collects a body in at most one buffer, which bounds its memory by the limit: each piece is a Buffer of its own, which takes a
 * hundred bytes and more even if it holds one. The usual body is one piece and is never copied.
 *
 * @param {number} limitBytes
 */
export function createBody(limitBytes) {
  let buffer = EMPTY
  let length = 0

  return {
    /** @param {Buffer} piece @returns {boolean} false: the body is over the limit, and nothing of it is kept */
    add(piece) {
      const end = length + piece.length
      if (end > limitBytes) {
        buffer = EMPTY
        length = limitBytes
        return false
      }
      if (length === 0) {
        buffer = piece
      } else {
        if (end > buffer.length) buffer = grown(buffer, Math.min(limitBytes, Math.max(2 * end, MIN_CAPACITY_BYTES)))
        piece.copy(buffer, length)
      }
      length = end
      return true
    },

    /** Hands the body over, and keeps nothing of it. */
    take() {
      const body = length === buffer.length ? buffer : buffer.subarray(0, length)
      buffer = EMPTY
      return body
    },
  }
}

/**
 * Takes a body of announced length straight from Node's parser, which hands each piece, and null behind the last one, to the
 * request's push() (undocumented: lib/_http_common.js; tested on Node 20 and 26). The stream behind push() would deliver them by events,
 * some ticks later, which costs about a tenth of a request that stores nothing.
 *
 * @param {IncomingMessage} req none of whose body has been read; its handler has not returned yet
 * @param {(piece: Buffer) => void} add
 * @param {() => void} end
 */
export function takeFromParser(req, add, end) {
  req.push = (/** @type {Buffer | null} */ piece) => {
    if (piece !== null) {
      add(piece)
      return true
    }
    // The stream has to end, too, or else the connection holds the whole request until the next one comes.
    Readable.prototype.push.call(req, null)
    end()
    return true
  }
}

/**
 * Bounds what a chunked body costs in CPU: Node calls back once per chunk, so a body of one-byte chunks costs a thousand
 * times what its bytes suggest. A piece counts only if it came in the same read as the one before it, since pieces that
 * trickle in cost the client a packet each, and a slow network must not make a body wrong.
 *
 * @param {IncomingMessage} req
 * @param {() => void} refuse called once, when the body has come in too many pieces for its length; closes the connection
 */
export function boundPieces(req, refuse) {
  const { socket } = req
  let pieces = 0
  let bytes = 0
  let readBytes = 0
  req.on('data', function count(piece) {
    bytes += piece.length
    const { bytesRead } = socket
    if (bytesRead !== readBytes) {
      readBytes = bytesRead
    } else if (++pieces > FREE_PIECES + bytes / BYTES_PER_PIECE) {
      req.off('data', count)
      skipRead(socket)
      // While an earlier request has no answer yet, a flowing body would ask the paused socket for more.
      req._read = () => {}
      refuse()
      socket.pause()
    }
  })
}

/**
 * Makes Node's parser skip the rest of what it has read, perhaps ten thousand chunks. Nothing stops it within a read, but
 * without its callback for bodies a chunk takes well under a microsecond. The callback is undocumented (lib/_http_common.js,
 * the same in Node 20 to 26); where it is not found, the rest of this read is slower, and no less safe.
 *
 * @param {Socket} socket
 */
function skipRead(socket) {
  const parser = Reflect.get(socket, 'parser') ?? {}
  const slot = Object.keys(parser).find((key) => parser[key]?.name === 'parserOnBody')
  if (slot === undefined) return
  const callback = parser[slot]
  parser[slot] = null
  // Another connection will get this parser, and needs the callback. By then the read is over.
  setImmediate(() => {
    parser[slot] = callback
  })
}

/** @type {Buffer} */
const EMPTY = Buffer.alloc(0)

/** Not from Node's pool, of which a small slice would keep 8 KiB alive. @param {Buffer} buffer @param {number} capacityBytes */
function grown(buffer, capacityBytes) {
  const larger = Buffer.allocUnsafeSlow(capacityBytes)
  buffer.copy(larger)
  return larger
}
