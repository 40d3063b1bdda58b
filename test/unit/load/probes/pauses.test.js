import t from 'tap'
import { pauseBefore } from '../../../../load/probes/index.js'

const INTERVAL_MS = 100
const SAMPLES = 500

t.test('samples come at the interval on average, and in no rhythm that even arrivals could have', async (t) => {
  const pauses_ms = Array.from({ length: SAMPLES }, (_, i) => pauseBefore(INTERVAL_MS, i + 1))
  t.ok(pauses_ms.every((pause_ms) => pause_ms >= INTERVAL_MS / 2 && pause_ms < 1.5 * INTERVAL_MS))
  const sum_ms = pauses_ms.reduce((sum, pause_ms) => sum + pause_ms, 0)
  t.ok(Math.abs(sum_ms / SAMPLES - INTERVAL_MS) < 1, `${sum_ms / SAMPLES} ms on average`)
  for (const between_ms of [10, 20, 25, 50, 100, 200]) {
    let at_ms = 0
    const parts = [0, 0, 0, 0]
    for (const pause_ms of pauses_ms) {
      at_ms += pause_ms
      parts[Math.floor(((at_ms % between_ms) / between_ms) * parts.length)]++
    }
    // With equal pauses, all samples would be in one part.
    t.ok(Math.min(...parts) > SAMPLES / 8, `arrivals every ${between_ms} ms: ${parts}`)
  }
})
