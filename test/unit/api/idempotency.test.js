import t from 'tap'
import { KEY_PATTERN, keyOf } from '../../../api/idempotency.js'
import { caught } from '../../support/caught.js'

/** @type {[string, string][]} */
const accepted = [
  ['"8e03978e-40d5-43dd-bc93-6894a57f9324"', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['x', 'x'],
  ['"x"', 'x'],
  ['"two words"', 'two words'],
  ['"a \\"quote\\" and a \\\\"', 'a "quote" and a \\'],
  ['b64+/=', 'b64+/='],
  ['x'.repeat(255), 'x'.repeat(255)],
  [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
]
for (const [header, key] of accepted) {
  t.test(`the header ${header.slice(0, 50)} holds the key ${key.slice(0, 50)}`, async (t) => {
    t.equal(keyOf(header), key)
    t.match(header, new RegExp(KEY_PATTERN))
  })
}

const malformed = [
  '',
  '""',
  '"',
  '"x',
  'x"',
  'two words',
  'one, two',
  '"one", "two"',
  '"x";p=1',
  'é',
  '"\\x"',
  '"\t"',
  'x'.repeat(256),
]
for (const header of malformed) {
  t.test(`the header ${JSON.stringify(header).slice(0, 50)} holds no key`, async (t) => {
    t.notMatch(header, new RegExp(KEY_PATTERN))
    t.match(
      caught(() => keyOf(header)),
      { code: 'malformed_idempotency_key', status: 400 },
    )
  })
}
