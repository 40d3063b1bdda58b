/**
 * The colours of the pictures and the page, light and dark. Series use the palette of Okabe and Ito, which stays distinct with most kinds
 * of colour blindness, adjusted to a contrast of at least 3 against the background; each series also has its own mark.
 */
export const COLOURS = {
  paper: { light: '#ffffff', dark: '#15181c' },
  ink: { light: '#1f2328', dark: '#e6e8eb' },
  muted: { light: '#57606a', dark: '#a7b0ba' },
  grid: { light: '#dde3e9', dark: '#343b44' },
  blue: { light: '#0072b2', dark: '#56b4e9' },
  vermillion: { light: '#c75000', dark: '#ff8a4c' },
  green: { light: '#00805d', dark: '#2fc99b' },
  purple: { light: '#a8487f', dark: '#e39ac4' },
  orange: { light: '#8f6500', dark: '#e8b027' },
  grey: { light: '#6b7480', dark: '#98a2ad' },
}

/** Colour, mark and line of a picture's series, in order. */
export const SERIES = [
  { colour: COLOURS.blue.light, mark: 'circle', line: 'solid' },
  { colour: COLOURS.vermillion.light, mark: 'triangle', line: 'dashed' },
  { colour: COLOURS.green.light, mark: 'rect', line: 'dotted' },
  { colour: COLOURS.purple.light, mark: 'diamond', line: [10, 3, 2, 3] },
  { colour: COLOURS.orange.light, mark: 'arrow', line: [2, 2] },
  { colour: COLOURS.grey.light, mark: 'roundRect', line: [12, 4] },
]

/** Name and style of trials in pictures, by outcome; style: index into SERIES. @type {Record<string, { name: string, style: number }>} */
export const VERDICTS = {
  pass: { name: 'passed', style: 0 },
  fail: { name: 'failed', style: 1 },
  invalid: { name: 'invalid', style: 3 },
}

/** Colours of a heat map, from worse than the reference to better; the same in light and dark. */
export const HEAT = [
  { fill: '#b2500a', text: '#fefefe' },
  { fill: '#e08a4a', text: '#101010' },
  { fill: '#f6cfae', text: '#101010' },
  { fill: '#eeeeec', text: '#101010' },
  { fill: '#b5d6ea', text: '#101010' },
  { fill: '#5aa5d2', text: '#101010' },
  { fill: '#0a6299', text: '#fefefe' },
]

/** Darkens drawings made in light colours: a style sheet overrides colour attributes. @param {string} [scope] selector prefix */
export function darkStyle(scope = '') {
  const rules = Object.values(COLOURS).flatMap(({ light, dark }) =>
    ['fill', 'stroke'].map((name) => `${scope}[${name}="${light}"]{${name}:${dark}}`),
  )
  return `@media screen and (prefers-color-scheme:dark){${rules.join('')}}`
}
