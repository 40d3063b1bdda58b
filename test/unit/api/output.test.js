import t from 'tap'
import { createOutput } from '../../../api/output.js'

/** @param {string} code */
const failure = (code) => Object.assign(new Error(code), { code })

/** An output whose writes end when a test says so. */
function openOutput() {
  /** @type {{ text: string, end: (error: Error | null, bytes?: number) => void }[]} */
  const writes = []
  /** @type {(() => void)[]} */
  const later = []
  let exit = () => {}
  const output = createOutput(1, {
    write: /** @type {any} */ (
      (/** @type {number} */ _fd, /** @type {Buffer} */ bytes, /** @type {any} */ done) =>
        writes.push({ text: String(bytes), end: (error, length = bytes.length) => done(error, length) })
    ),
    writeSync: /** @type {any} */ (
      (/** @type {number} */ _fd, /** @type {string} */ text) => writes.push({ text, end: () => {} })
    ),
    setTimeout: /** @type {any} */ (
      (/** @type {() => void} */ run) => {
        later.push(run)
        return { unref: () => {} }
      }
    ),
    onExit: (act) => {
      exit = act
    },
  })
  return { output, writes, later, exit: () => exit(), texts: () => writes.map(({ text }) => text) }
}

t.test('lines that come during a write are written together after it, whole', async (t) => {
  const { output, writes, texts } = openOutput()
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
  t.strictSame(texts(), ['one\n'])
  writes[0].end(null, 1)
  t.strictSame(texts(), ['one\n', 'ne\n'], 'the rest of a line that was cut')
  writes[1].end(null)
  t.strictSame(texts().slice(2), ['two\nthree\n'])
  writes[2].end(null)
  output.write('four\n')
  t.strictSame(texts().slice(3), ['four\n'])
})

t.test('a full disk or a lost reader costs the lines of one write; the next are tried again', async (t) => {
  for (const code of ['ENOSPC', 'EPIPE']) {
    const { output, writes, texts } = openOutput()
    output.write('one\n')
    output.write('two\n')
    writes[0].end(failure(code), 0)
    t.strictSame(texts(), ['one\n', 'two\n'], code)
  }
})

t.test('a full pipe is tried again later, with the same lines', async (t) => {
  const { output, writes, later, texts } = openOutput()
  output.write('one\n')
  writes[0].end(failure('EAGAIN'), 0)
  output.write('two\n')
  t.strictSame(texts(), ['one\n'])
  later[0]()
  t.strictSame(texts(), ['one\n', 'one\n'])
})

t.test('a reader that stalls costs lines, not memory', async (t) => {
  const { output, writes, texts } = openOutput()
  const line = `${'x'.repeat(1023)}\n`
  for (let i = 0; i < 5000; i++) output.write(line)
  writes[0].end(null)
  t.equal(texts()[1].length, 1 << 20)
})

t.test('what waits is written when the process exits, if it can be', async (t) => {
  const { output, exit, texts } = openOutput()
  output.write('one\n')
  output.write('two\n')
  exit()
  t.strictSame(texts(), ['one\n', 'two\n'])
})
