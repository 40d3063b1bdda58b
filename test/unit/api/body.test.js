import t from 'tap'
import { createBody } from '../../../api/body.js'

t.test('a body is kept in one buffer, whatever its pieces', async (t) => {
  const limitBytes = 16_384
  for (const pieceBytes of [1, 7, 1000, 16_384]) {
    const body = createBody(limitBytes)
    // Thirteen letters, so that no piece begins like the one before. Never of Node's pool, whose size depends on its version.
    const whole = Buffer.alloc(limitBytes, 'abcdefghijklm')
    for (let at = 0; at < limitBytes; at += pieceBytes) body.add(whole.subarray(at, at + pieceBytes))
    const taken = body.take()
    t.ok(taken.equals(whole), `in pieces of ${pieceBytes} bytes`)
    t.ok(taken.buffer.byteLength <= limitBytes, 'the buffer is no larger than the limit')
  }
  const body = createBody(10)
  t.strictSame([body.add(Buffer.alloc(10)), body.add(Buffer.alloc(1)), body.add(Buffer.alloc(1))], [true, false, false])
  t.equal(body.take().length, 0, 'nothing is kept of a body over the limit')
})
