import t from 'tap'
import { main } from '../../../load/verb.js'

t.test('what every object has is no verb', async (t) => {
  for (const name of ['toString', 'constructor', '__proto__', undefined]) {
    const written = t.capture(process.stderr, 'write', () => true)
    const code = await main({}, name === undefined ? [] : [name])
    const [{ args }] = written()
    t.equal(code, 2, String(name))
    t.match(args[0], `redline: expected one of these verbs, got ${name ?? 'none'}`)
  }
})
