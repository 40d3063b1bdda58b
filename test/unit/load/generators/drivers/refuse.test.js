import t from 'tap'
import { UsageError } from '../../../../../load/command/errors.js'
import { DRIVERS } from '../../../../../load/generators/drivers/index.js'
import { caught } from '../../../../support/caught.js'

/** @import { Asked } from '../../../../../load/generators/drivers/refuse.js' */

const ENTRIES = [{ method: 'POST' }, { method: 'GET' }]

t.test('a driver refuses what it cannot do, or cannot do safely', async (t) => {
  const plain = { url: 'http://a', method: 'POST' }
  const secure = { url: 'https://a', method: 'POST' }
  const head = { url: 'http://a', method: 'HEAD' }
  const taking = { ...plain, entries: [...ENTRIES, { method: 'GET', take: { id: '/id' } }] }
  const filled = { ...plain, entries: [{ method: 'GET', headers: { Authorization: 'Bearer {{taken token}}' } }] }
  const mixedWithHead = { ...plain, entries: [...ENTRIES, { method: 'HEAD' }] }
  /** @type {[string, Asked, RegExp][]} */
  const refused = [
    ...['vegeta', 'autocannon', 'wrk', 'locust'].flatMap((driver) => {
      const message = new RegExp(`^--mix: expected --driver paced .* or client .*, got ${driver}$`)
      return [taking, filled].map((asked) => /** @type {[string, Asked, RegExp]} */ ([driver, asked, message]))
    }),
    ['autocannon', secure, /does not check certificates/],
    ['autocannon', head, /cannot do HEAD/],
    ['autocannon', mixedWithHead, /cannot do HEAD/],
    ['wrk', secure, /does not check certificates/],
    ['wrk', head, /cannot do HEAD/],
    ['wrk', mixedWithHead, /cannot do HEAD/],
  ]
  for (const [driver, asked, message] of refused) {
    const error = caught(() => DRIVERS[driver].check?.(asked))
    t.type(error, UsageError, driver)
    t.match(error, { message }, `${driver}: ${JSON.stringify(asked)}`)
  }
})

t.test('and nothing else', async (t) => {
  const all = { url: 'https://a', method: 'HEAD' }
  t.doesNotThrow(() => DRIVERS.paced.check?.(all))
  t.doesNotThrow(() => DRIVERS.paced.check?.({ ...all, entries: [{ method: 'GET', take: { id: '/id' } }] }))
  t.doesNotThrow(() => DRIVERS.client.check?.({ ...all, entries: ENTRIES }))
  t.doesNotThrow(() => DRIVERS.autocannon.check?.({ url: 'http://a', method: 'POST', entries: ENTRIES }))
})
