import t from 'tap'
import { awaitsAnswer, enter, leave, lineOf } from '../../../api/pipelining.js'
import { isOver } from '../../../api/quiet.js'

const TIMEOUTS = { idle_ms: 1000, stuck_ms: 5000 }

/** Bytes seen before and now, after how long without a change; over: the connection is to be closed. */
const CASES = [
  { about: 'an idle connection is left alone until its timeout', before: 7, now: 7, quiet_ms: 999, isIdle: true },
  { about: 'then it is closed', before: 7, now: 7, quiet_ms: 1000, isIdle: true, over: true },
  { about: 'bytes since the last look restart the timeout', before: 7, now: 8, quiet_ms: 9000, isIdle: true },
  { about: 'a request in flight may take longer', before: 7, now: 7, quiet_ms: 4999, isIdle: false },
  { about: 'but not for ever', before: 7, now: 7, quiet_ms: 5000, isIdle: false, over: true },
  { about: 'while it waits for our answer, it may', before: 7, now: 7, quiet_ms: 9000, isIdle: false, isDue: true },
  { about: 'fewer bytes are a change, too', before: 7, now: 6, quiet_ms: 9000, isIdle: false },
]

for (const { about, before, now, quiet_ms, isIdle, isDue = false, over = false } of CASES) {
  t.test(about, async (t) => {
    const last = { bytes: before, since_ms: 100 }
    t.equal(isOver(last, { bytes: now, isIdle, isDue }, 100 + quiet_ms, TIMEOUTS), over)
    t.strictSame(
      last,
      { bytes: now, since_ms: before === now && !isDue ? 100 : 100 + quiet_ms },
      'and it remembers what it saw',
    )
  })
}

t.test('a connection waits for us alone once its last request has arrived, until all are answered', async (t) => {
  const socket = {}
  t.notOk(awaitsAnswer(socket), 'before the first request')
  const [first, second] = /** @type {any[]} */ ([{ complete: true }, { complete: false }])
  const line = lineOf(socket)
  enter(line, first)
  t.ok(awaitsAnswer(socket))
  enter(line, second)
  t.notOk(awaitsAnswer(socket), 'the client is still sending')
  second.complete = true
  t.ok(awaitsAnswer(socket))
  leave(line, second)
  t.ok(awaitsAnswer(socket), 'the first one still waits')
  leave(line, first)
  t.notOk(awaitsAnswer(socket))
})
