import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from './settings.js'

const HEAD = `# Settings of the API. Copy to .env and take away the # of what you change; the environment comes before .env.
# A value carries no unit: its name does. This file is made by \`npm run env-example\`.
`

/** .env.example, from the one table of settings. @returns {string} */
export function envExample() {
  const settings = Object.entries(SETTINGS).map(([name, { default: byDefault, expected, about }]) => {
    return `\n# ${about}\n# Expected: ${expected}\n#${name}=${byDefault ?? ''}\n`
  })
  return HEAD + settings.join('')
}

/** The same as a table of markdown, for README. @returns {string} */
export function settingsTable() {
  const rows = Object.entries(SETTINGS).map(([name, { default: byDefault, expected, about }]) => {
    return `| \`${name}\` | ${byDefault === undefined ? '' : `\`${byDefault}\``} | ${expected} | ${about} |`
  })
  return ['| setting | default | value | what it is |', '| --- | --- | --- | --- |', ...rows, ''].join('\n')
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(argv[2] === '--table' ? settingsTable() : envExample())
}
