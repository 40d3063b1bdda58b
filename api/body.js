import { Readable } from 'node:stream'

/** @import { IncomingMessage } from 'node:http' */

/** Smallest buffer worth allocating for a body that arrives in pieces. */
const MIN_CAPACITY_BYTES = 1024

/** Number of pieces allowed for any body, and number of body bytes that allow one more. */
const FREE_PIECES = 128
const BYTES_PER_PIECE = 64

/** @type {Buffer} */
const EMPTY = Buffer.alloc(0)

/**
 * Collects a body in at most one buffer, so that the limit bounds its memory: a separate Buffer takes 100 bytes or more, even
 * for a piece of one byte. Most bodies arrive in one piece and are never copied. @param {number} limitBytes
 */
export function createBody(limitBytes) {
  let buffer = EMPTY
  let length = 0

  return {
    /** @param {Buffer} piece @returns {boolean} false: the body exceeds the limit and was discarded */
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

    /** Returns the body and releases it. */
    take() {
      const body = length === buffer.length ? buffer : buffer.subarray(0, length)
      buffer = EMPTY
      return body
    },
  }
}

/**
 * Takes a body without chunks straight from Node's parser, which passes each piece, then null, to the request's push()
 * (undocumented: lib/_http_common.js; tested on Node 20 and 26). The stream behind push() would emit them as events some ticks
 * later, which costs about a tenth of a request that stores nothing.
 * @param {IncomingMessage} req its body must be unread, and its handler must not have returned
 * @param {(piece: Buffer) => void} add @param {() => void} end
 */
export function takeFromParser(req, add, end) {
  req.push = (/** @type {Buffer | null} */ piece) => {
    if (piece !== null) {
      add(piece)
    } else {
      // The stream has to end, too; otherwise the connection retains the whole request until the next one arrives.
      Readable.prototype.push.call(req, null)
      end()
    }
    return true
  }
}

/**
 * Limits the CPU cost of a chunked body: Node calls back once per chunk, so a body of one-byte chunks costs a thousand
 * times what its length suggests. A piece counts only if it arrived in the same read as the previous one: a slow network
 * must not invalidate a body, and pieces that trickle in cost the client a packet each.
 * @param {IncomingMessage} req @param {() => void} refuse called once, when the body has too many pieces for its length
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
      bypassStream(req)
      refuse()
      socket.pause()
    }
  })
}

/** Drops a body without an answer. @param {IncomingMessage} req */
export function discard(req) {
  bypassStream(req)
  req.resume()
}

/**
 * Drops the rest of a body. One read may hold ten thousand pieces, and nothing can stop the parser within a read. This keeps it from
 * putting each into the stream, which is what costs (undocumented: lib/_http_common.js; tested on Node 20 and 26).
 * @param {IncomingMessage} req
 */
function bypassStream(req) {
  Reflect.set(req, '_dumped', true)
  // Without this, a flowing body would resume a paused socket while an earlier request is still unanswered.
  req._read = () => {}
}

/** Allocates outside Node's buffer pool, where a small slice would keep 8 KiB alive. @param {Buffer} buffer @param {number} capacityBytes */
function grown(buffer, capacityBytes) {
  const larger = Buffer.allocUnsafeSlow(capacityBytes)
  buffer.copy(larger)
  return larger
}
