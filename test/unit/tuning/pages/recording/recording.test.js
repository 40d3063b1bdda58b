import t from 'tap'
import { createScreen } from '../../../../../tuning/pages/recording/screen.js'
import { animationOf } from '../../../../../tuning/pages/recording/svg.js'

t.test('a recording is what the terminal showed, not what was written to it', async (t) => {
  const screen = createScreen({ columns: 20, rows: 3 })
  t.strictSame(screen.lines(), ['', '', ''])
  for (const [written, lines] of /** @type {const} */ ([
    ['one\r\n', ['one', '', '']],
    ['ten %', ['one', 'ten %', '']],
    ['\r\x1b[2Kdone', ['one', 'done', '']],
    ['\r\n\x1b[1mend\x1b[0m\r\nlast', ['done', 'end', 'last']],
  ])) {
    await screen.write(Buffer.from(written))
    t.strictSame(screen.lines(), lines)
  }
  t.strictSame(screen.lines(/^one|^end/), ['end', 'last', ''], 'scrolled to the last line that matches')
  t.strictSame(screen.lines(/^one/), ['one', 'done', 'end'])
  t.strictSame(screen.lines(/none/), ['done', 'end', 'last'])
})

t.test('the animation shows one frame at a time, the last one longest, and text as text', async (t) => {
  const screens = [
    ['a < b & c', ''],
    ['a < b & c', ''],
    ['end', ''],
  ]
  const svg = animationOf(screens, { columns: 20, rows: 2, title: 'a "title"' })
  t.match(svg, 'a &#60; b &#38; c')
  t.match(svg, /@keyframes f0\{0%\{visibility:visible\}0\.000%\{visibility:visible\}3\.333%\{visibility:hidden\}\}/)
  t.match(svg, /@keyframes f1\{0%\{visibility:hidden\}3\.333%\{visibility:visible\}100\.000%\{visibility:hidden\}\}/)
  t.notMatch(svg, 'f2', 'a screen that did not change is no frame')
  t.match(svg, /<g id="f1"><text/, 'without motion, the last frame is seen')
  t.match(svg, '<g id="f0" class="earlier">')
  t.match(svg, 'aria-label="a &#34;title&#34;"')

  const many = animationOf(
    Array.from({ length: 89 }, (_, i) => [String(i)]),
    { columns: 20, rows: 1, title: 'many' },
  )
  t.match(many, /@keyframes f1\{0%\{visibility:hidden\}0\.833%\{visibility:visible\}1\.667%\{visibility:hidden\}\}/)
  t.match(many, /@keyframes f88\{0%\{visibility:hidden\}73\.333%\{/, 'many frames share what the last one leaves')
})
