import t from 'tap'
import { chunksOf, framesOf, paced } from '../../../../../tuning/pages/recording/frames.js'
import { animationOf } from '../../../../../tuning/pages/recording/svg.js'

const SIZE = { columns: 20, rows: 3, step_s: 1 }

t.test('a recording is what the terminal showed, not what was written to it', async (t) => {
  const written = ['one\r\n', 'ten %', '\r\x1b[2Kdone', '\r\n\x1b[1mend\x1b[0m\r\nlast']
  const timing = written.map((text, i) => `${i === 3 ? 2.5 : 0.9} ${Buffer.byteLength(text)}`).join('\n')
  const chunks = chunksOf(timing, Buffer.from(written.join('')))
  t.strictSame(
    chunks.map(({ at_s }) => at_s.toFixed(1)),
    ['0.9', '1.8', '2.7', '5.2'],
  )
  const frames = await framesOf(chunks, SIZE)
  t.strictSame(
    frames.map(({ lines }) => lines),
    [
      ['one', '', ''],
      ['one', 'ten %', ''],
      ['one', 'done', ''],
      ['done', 'end', 'last'],
    ],
  )
})

t.test('long pauses are cut, and the last frame stays', async (t) => {
  const frames = [0, 1, 61].map((at_s) => ({ at_s, lines: [String(at_s)] }))
  t.strictSame(
    paced(frames, { most_s: 3, whole_s: 30, last_s: 10 }).map(({ at_s }) => at_s),
    [0, 1, 4],
    'never slower than it was',
  )
  t.strictSame(
    paced(frames, { most_s: 3, whole_s: 12, last_s: 10 }).map(({ at_s }) => at_s),
    [0, 0.5, 2],
  )
})

t.test('the animation shows one frame at a time, and text as text', async (t) => {
  const frames = [
    { at_s: 0, lines: ['a < b & c', ''] },
    { at_s: 2, lines: ['end', ''] },
  ]
  const svg = animationOf(frames, { columns: 20, rows: 2, whole_s: 4, title: 'a "title"' })
  t.match(svg, 'a &lt; b &amp; c')
  t.match(svg, /@keyframes f0\{0%\{visibility:visible\}0\.000%\{visibility:visible\}50\.000%\{visibility:hidden\}\}/)
  t.match(svg, /@keyframes f1\{0%\{visibility:hidden\}50\.000%\{visibility:visible\}100\.000%\{visibility:hidden\}\}/)
  t.match(svg, /<g id="f1"><text/, 'without motion, the last frame is seen')
  t.match(svg, '<g id="f0" class="earlier">')
  t.match(svg, 'aria-label="a &quot;title&quot;"')
})
