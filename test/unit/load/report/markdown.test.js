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

t.test('a message of several lines begins no section and no list of its own', async (t) => {
  const message = 'it broke off: exit 1\r\n# Not a heading\n\n- not an item'
  const blocks = [answer(message), heading(message), list([message, { text: message, items: [message] }])]
  const said = 'it broke off: exit 1 # Not a heading - not an item'
  t.equal(markdownOf(blocks), `${said}\n\n## ${said}\n\n- ${said}\n- ${said}\n  - ${said}`)
})
