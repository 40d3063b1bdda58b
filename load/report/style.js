import { readFileSync } from 'node:fs'
import { COLOURS, darkStyle } from './colours.js'

const names = Object.entries(COLOURS)
const light = names.map(([name, colour]) => `--${name}:${colour.light}`).join(';')
const dark = names.map(([name, colour]) => `--${name}:${colour.dark}`).join(';')

/** The style sheet of report.html: the colours, then style.css, which uses them. */
export const STYLE = `
:root{color-scheme:light dark;${light}}
@media screen and (prefers-color-scheme:dark){:root{${dark}}}
${darkStyle('svg ')}
${readFileSync(new URL('style.css', import.meta.url), 'utf8')}`.trim()
