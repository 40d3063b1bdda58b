import { isDeepStrictEqual } from 'node:util'
import { escaped } from '../../../load/report/chart.js'

const CHARACTER_PX = 8
const LINE_PX = 17
const PADDING_PX = 16

/** Duration of the animation, that of its last frame, and the longest of another one. */
const WHOLE_S = 30
const LAST_S = 8
const MOST_S = 1

/**
 * A repeating animation of a terminal as one SVG without scripts. A reader who prefers reduced motion sees the last frame.
 * @param {string[][]} screens the lines of each; one that equals the one before it is left out
 * @param {{ columns: number, rows: number, title: string }} about
 */
export function animationOf(screens, { columns, rows, title }) {
  const [width, height] = [columns * CHARACTER_PX + 2 * PADDING_PX, (rows + 1) * LINE_PX + 2 * PADDING_PX]
  const frames = screens.filter((lines, i) => !isDeepStrictEqual(lines, screens[i - 1]))
  const share = 100 * Math.min(MOST_S / WHOLE_S, (1 - LAST_S / WHOLE_S) / (frames.length - 1))
  const styles = frames.map((_, i) => {
    const end = i === frames.length - 1 ? 100 : (i + 1) * share
    const shown = `${(i * share).toFixed(3)}%{visibility:visible}${end.toFixed(3)}%{visibility:hidden}`
    return `@keyframes f${i}{0%{visibility:${i === 0 ? 'visible' : 'hidden'}}${shown}}#f${i}{animation:f${i} ${WHOLE_S}s step-end infinite}`
  })
  const groups = frames.map((lines, i) => {
    const texts = lines.map((line, row) => {
      return line && `<text x="${PADDING_PX}" y="${PADDING_PX + (row + 2) * LINE_PX}">${escaped(line)}</text>`
    })
    return `<g id="f${i}"${i === frames.length - 1 ? '' : ' class="earlier"'}>${texts.join('')}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<style>text{font:13.3px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dce2;white-space:pre}.title{fill:#8b95a1}.earlier{visibility:hidden}@media (prefers-reduced-motion:no-preference){${styles.join('')}}</style>
<rect width="100%" height="100%" rx="8" fill="#14181d"/><text class="title" x="${PADDING_PX}" y="${PADDING_PX + LINE_PX / 2}">${escaped(title)}</text>
${groups.join('\n')}
</svg>
`
}
