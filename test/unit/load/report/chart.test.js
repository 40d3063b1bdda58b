import t from 'tap'
import { draw, standalone } from '../../../../load/report/chart.js'
import { xyPicture } from '../../../../load/report/picture.js'

/** @import { Picture } from '../../../../load/report/picture.js' */

/** Texts of a drawing. @param {string} svg */
const textsOf = (svg) => [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text)

t.test('a single load on a logarithmic axis is inside the plot, also if it is a round number', async (t) => {
  const x = /** @type {const} */ ({ title: 'connections', unit: 'number', log: true })
  for (const connections of [1, 20, 50, 64, 100]) {
    const series = [{ name: 'p99', points: [[connections, 7]], as: 'both' }]
    const form = /** @type {any} */ ({ x, y: { title: 'p99', unit: 'ms' }, series })
    const { one } = await draw([xyPicture('one', 'One load', 'A load.', form)])
    const mark_px = Number(/matrix\([\d.]+,0,0,[\d.]+,([\d.]+),/.exec(one.wide)?.[1])
    t.ok(mark_px > 100 && mark_px < 700, `${connections}: at ${mark_px} px of 760`)
    t.ok(textsOf(one.wide).filter((text) => /^\d+$/.test(text)).length > 1, `${connections}: two labels give the scale`)
  }
})

/** @param {string[]} labels @returns {Picture} */
const rowsOf = (labels) => ({
  ...{ name: 'rows', title: 'Rows', about: 'A value for each.' },
  form: {
    ...{ kind: 'dots', x: { title: 'value', unit: 'number' }, labels },
    series: [{ name: 'values', values: labels.map((_, i) => ({ value: i + 1 })) }],
  },
})

t.test('a picture holds no character that XML forbids, whatever its labels are', async (t) => {
  const { rows } = await draw([rowsOf(['a\u001b[31m\u0001b', 'c'])])
  t.notMatch(standalone(rows.wide), /[^\P{Cc}\n]/u)
  t.match(rows.wide, 'a\ufffd[31m\ufffdb')
})

t.test('names in wide letters are cut where the plot begins, and between letters', async (t) => {
  for (const letter of ['漢', '😀']) {
    const { rows } = await draw([rowsOf([letter.repeat(60), 'c'])])
    for (const [svg, width_px] of /** @type {[string, number][]} */ ([
      [rows.wide, 760],
      [rows.narrow, 350],
    ])) {
      const name = textsOf(svg).find((text) => text.startsWith(letter)) ?? ''
      t.match(name, new RegExp(`^${letter}+…$`, 'u'))
      t.ok([...name].length * 12 < width_px / 2, `${[...name].length} letters in ${width_px} px`)
    }
  }
})

t.test('a single line gets a legend unless the title of its axis already names it', async (t) => {
  const drawnAs = async (/** @type {string} */ name) => {
    const series = [{ name, points: [[1, 7]], as: 'both' }]
    const form = /** @type {any} */ ({
      x: { title: 'rate', unit: 'number' },
      y: { title: 'in use', unit: 'share' },
      series,
    })
    const { one } = await draw([xyPicture('one', 'One', 'A line.', form)])
    return textsOf(one.wide).filter((text) => text === name).length
  }
  t.equal(await drawnAs('the generator (CPU)'), 1)
  t.equal(await drawnAs('in use'), 1, 'the title of the axis')
})
