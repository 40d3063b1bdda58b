import t from 'tap'
import { answer, heading, list, paragraph, table } from '../../../../load/report/blocks.js'
import { terminalOf } from '../../../../load/report/terminal.js'

const WORDS = 'so many words that they need more than one line of a terminal that is not very wide at all'

t.test('no line is wider than the terminal, and no word is lost', async (t) => {
  const rows = [['first', '1,000 ms', WORDS]]
  const blocks = [answer(WORDS), list([WORDS, { text: WORDS, items: [WORDS] }]), table(['name', 'p99', 'why'], rows)]
  for (const columns of [40, 60, 100]) {
    const text = terminalOf(blocks, columns)
    t.strictSame(
      text.split('\n').filter((line) => line.length > columns),
      [],
      `${columns}`,
    )
    t.equal(text.split(/\bmany\b/).length - 1, 5)
    t.match(text, /\b1,000 ms\b/, 'a number keeps its unit')
  }
})

t.test('a list is indented below its dashes; a path stays in one piece', async (t) => {
  t.match(terminalOf([list([WORDS])], 40), /^- so many .*\n {2}\S/)
  t.match(terminalOf([list([{ text: 'a', items: [WORDS] }])], 40), /\n {2}- so many .*\n {4}\S/)
  const file = `/a/${'long/'.repeat(20)}path`
  t.match(terminalOf([paragraph(`its own words are in ${file}; look there`)], 60), file)
})

t.test('a table whose words alone are too wide is cut into parts that each have the first column', async (t) => {
  const head = ['name', ...Array.from({ length: 12 }, (_, i) => `a-column-${i}`)]
  const text = terminalOf([table(head, [head.map(() => 'figure')])], 60)
  t.ok(text.split('\n\n').length > 1)
  for (const part of text.split('\n\n')) t.match(part, /^\| name +\|.*\n\| :-+ \|.*\n\| figure/)
  t.equal(
    terminalOf([table(['a'], [['b']])], 60),
    '| a |\n| :- |\n| b |'.replace('| a |', '| a  |').replace('| b |', '| b  |'),
  )
})

t.test('details and pictures are not for the terminal', async (t) => {
  const picture = /** @type {any} */ ({ kind: 'picture', picture: { name: 'x' } })
  const blocks = [heading('Shown'), heading('Hidden', { detail: true }), paragraph('hidden'), picture]
  t.equal(terminalOf(blocks), '## Shown')
})

t.test('a terminal obeys no character of a text from outside', async (t) => {
  const hostile = 'a\u001b[2J\u0007b\u009b1m\rc'
  const blocks = [answer(hostile), list([hostile, { text: hostile, items: [hostile] }]), table([hostile], [[hostile]])]
  const text = terminalOf([...blocks, heading(hostile)], 40)
  t.notMatch(text, /[^\P{Cc}\n]/u)
  t.equal(text.split('[2J').length - 1, 7, 'the rest is still shown')
  t.match(terminalOf([paragraph('one\r\ntwo')]), /^one\ntwo$/, 'a line may end in two characters')
})
