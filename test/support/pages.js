import fs from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseCommand } from '../../load/command/flags.js'
import { main } from '../../load/run/shell.js'
import { sweep } from '../../load/verbs/sweep/sweep.js'
import { reportOn } from '../../tuning/pages/report/report.js'
import * as VERBS from '../../tuning/verbs.js'
import { createShell } from './shell.js'

export const CHROMIUM = '/usr/bin/chromium'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const report = reportOn({ sweep, ...VERBS })

/** @param {any} t */
export async function startBrowser(t) {
  // Takes half a second, of which most tests of reports have no use.
  const { chromium } = await import('playwright-core')
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  t.teardown(() => browser.close())
  return browser
}

/** `npm run report` without a process of its own. @param {string[]} argv @returns {Promise<any>} */
export async function runReport(...argv) {
  const { shown, ...command } = parseCommand(report.flags, argv, true)
  return report.run({ ...command, argv: shown }, /** @type {any} */ ({}))
}

/** The same from its command line to its exit code. @param {string[]} argv */
export async function reportOf(...argv) {
  const shell = createShell()
  const code = await main({ report }, ['report', ...argv], shell)
  return { code, ...shell.said }
}

/** A committed run, unpacked. @param {string} name @param {string} folder to put it in @returns {string} its folder */
export function fixture(name, folder) {
  const kept = `test/fixtures/runs/${name}`
  const [source, to] = [fs.existsSync(kept) ? kept : `tuning/evidence/${name}`, path.join(folder, name)]
  fs.mkdirSync(to, { recursive: true })
  fs.copyFileSync(path.join(source, 'run.json'), path.join(to, 'run.json'))
  const packed = path.join(source, 'trials.ndjson.gz')
  const trials = fs.existsSync(packed)
    ? gunzipSync(fs.readFileSync(packed))
    : fs.readFileSync(path.join(source, 'trials.ndjson'))
  fs.writeFileSync(path.join(to, 'trials.ndjson'), trials)
  return to
}

/**
 * A run with changes.
 * @param {string} folder
 * @param {{ run?: (run: any) => void, record?: (record: any) => void }} changes
 */
export function rewrite(folder, { run = () => {}, record = () => {} }) {
  const [runFile, trialsFile] = ['run.json', 'trials.ndjson'].map((name) => path.join(folder, name))
  const changed = JSON.parse(fs.readFileSync(runFile, 'utf8'))
  run(changed)
  fs.writeFileSync(runFile, JSON.stringify(changed))
  const lines = fs.readFileSync(trialsFile, 'utf8').split('\n').filter(Boolean)
  const records = lines.map((line) => {
    const one = JSON.parse(line)
    record(one)
    return `${JSON.stringify(one)}\n`
  })
  fs.writeFileSync(trialsFile, records.join(''))
}
