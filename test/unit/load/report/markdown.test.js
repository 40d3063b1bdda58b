import t from 'tap'
import { answer, drawn, heading, list, paragraph, sectionsOf, table } from '../../../../load/report/blocks.js'
import { markdownOf } from '../../../../load/report/markdown.js'

const picture = (/** @type {string} */ name) =>
  drawn(/** @type {any} */ ({ name, title: `T ${name}`, about: 'as [x] is' }))
const BLOCKS = [
  answer('Answer.'),
  picture('one'),
  paragraph('**A table**:'),
  table(['a', 'b'], [['1 | 2', 'x\ny']]),
  heading('Cells'),
  picture('two'),
  paragraph('Words.'),
  heading('Where', { folded: true }),
  list(['here', { text: 'there:', items: ['one', 'two'] }]),
]

t.test('a report keeps its words, and has its pictures where they belong', async (t) => {
  t.equal(
    markdownOf(BLOCKS),
    `Answer.

![T one: as  x  is](one.svg)

**A table**:

| a     |   b |
| :---- | --: |
| 1   2 | x y |

## Cells

![T two: as  x  is](two.svg)

Words.

## Where

- here
- there:
  - one
  - two`,
  )
})

t.test('each section has its heading, and the first has none', async (t) => {
  const sections = sectionsOf(BLOCKS)
  t.strictSame(
    sections.map((section) => [section.heading?.text ?? null, section.blocks.length]),
    [
      [null, 4],
      ['Cells', 2],
      ['Where', 1],
    ],
  )
  t.strictSame(
    sections.flatMap((section) => [...(section.heading ? [section.heading] : []), ...section.blocks]),
    BLOCKS,
  )
})
