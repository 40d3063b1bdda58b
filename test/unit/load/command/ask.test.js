import { PassThrough } from 'node:stream'
import t from 'tap'
import { askAt } from '../../../../load/command/ask.js'

const { signal } = new AbortController()

/** @param {string | null} said null: the input ends @param {{ isTTY?: boolean, abort?: AbortController }} [how] */
function asked(said, { isTTY = true, abort = new AbortController() } = {}) {
  const input = Object.assign(new PassThrough(), { isTTY })
  let written = ''
  const write = (/** @type {string} */ text) => {
    written += text
  }
  const answer = askAt(input, { isTTY, write }, abort.signal)('Go on?')
  if (said === null) input.end()
  else input.write(said)
  return answer.then((yes) => ({ yes, written }))
}

t.test('yes is yes, and anything else is no', async (t) => {
  for (const said of ['y\n', 'yes\n', ' Y \n', 'YES\n']) {
    t.strictSame(await asked(said), { yes: true, written: 'Go on? [y/N] ' }, said)
  }
  for (const said of ['\n', 'n\n', 'yesterday\n', 'ja\n', null]) t.equal((await asked(said)).yes, false, String(said))
})

t.test('without a terminal nobody is asked', async (t) => {
  t.strictSame(await asked('y\n', { isTTY: false }), { yes: null, written: '' })
  t.equal(await askAt(Object.assign(new PassThrough(), { isTTY: true }), { write() {} }, signal)('Go on?'), null)
})

t.test('a signal ends the wait', async (t) => {
  const abort = new AbortController()
  const answer = asked('', { abort })
  abort.abort(new Error('SIGINT'))
  await t.rejects(answer, { name: 'AbortError' })
})
