/** @import { Frame } from './frames.js' */

const CHARACTER_PX = 8
const LINE_PX = 17
const PADDING_PX = 16

/** @param {string} text */
const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/**
 * A repeating animation of a terminal as one SVG without scripts. A reader who prefers reduced motion sees the last frame.
 * @param {Frame[]} frames @param {{ columns: number, rows: number, whole_s: number, title: string }} about
 */
export function animationOf(frames, { columns, rows, whole_s, title }) {
  const [width, height] = [columns * CHARACTER_PX + 2 * PADDING_PX, (rows + 1) * LINE_PX + 2 * PADDING_PX]
  const share = (/** @type {number} */ at_s) => ((at_s / whole_s) * 100).toFixed(3)
  const styles = frames.map(({ at_s }, i) => {
    const end = frames[i + 1]?.at_s ?? whole_s
    const shown = `${share(at_s)}%{visibility:visible}${share(end)}%{visibility:hidden}`
    return `@keyframes f${i}{0%{visibility:${i === 0 ? 'visible' : 'hidden'}}${shown}}#f${i}{animation:f${i} ${whole_s}s step-end infinite}`
  })
  const groups = frames.map(({ lines }, i) => {
    const texts = lines.flatMap((line, row) => {
      return line === ''
        ? []
        : `<text x="${PADDING_PX}" y="${PADDING_PX + (row + 2) * LINE_PX}">${escaped(line)}</text>`
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
