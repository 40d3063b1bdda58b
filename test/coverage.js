import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * `npm run test:coverage`: the unit and system tests, and which lines of the product they and the programs that they start have run.
 * Fails where a folder falls below its floor in coverage.json. Node itself counts (NODE_V8_COVERAGE), in every process.
 * `node test/coverage.js FOLDER` reports on tests that have run with NODE_V8_COVERAGE=FOLDER.
 */
const FLOORS = JSON.parse(fs.readFileSync(new URL('coverage.json', import.meta.url), 'utf8'))
const ROOT = fileURLToPath(new URL('..', import.meta.url))

process.exitCode = process.argv[2] === undefined ? await runTests() : report(process.argv[2])

/** @returns {Promise<number>} exit code */
async function runTests() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redline-coverage-'))
  // Processes of other users write theirs, too.
  fs.chmodSync(folder, 0o1777)
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder }
    const tests = spawn(process.execPath, ['test/run.js', 'unit', 'system'], { cwd: ROOT, env, stdio: 'inherit' })
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
      process.on(signal, () => tests.kill(signal))
    }
    const [code] = await once(tests, 'close')
    return report(folder) || (code ?? 1)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** @param {string} folder that holds what Node has counted @returns {number} exit code */
function report(folder) {
  return print(linesOf(folder)) ? 0 : 1
}

/** @param {Map<string, { lines: number, run: number }>} byFile */
function print(byFile) {
  process.stdout.write('# coverage: lines that the unit and system tests run\n')
  let isEnough = true
  for (const [name, floor] of Object.entries(FLOORS)) {
    const own = [...byFile].filter(([file]) => folderOf(file) === name).map(([, counts]) => counts)
    const sum = (/** @type {'lines' | 'run'} */ what) => own.reduce((all, counts) => all + counts[what], 0)
    const percent = sum('lines') === 0 ? 0 : (100 * sum('run')) / sum('lines')
    const isBelow = percent < floor
    isEnough &&= !isBelow
    const figures = `${percent.toFixed(1).padStart(5)} % of ${sum('lines')} lines, floor ${floor} %`
    process.stdout.write(`# ${name.padEnd(20)} ${figures}${isBelow ? ', BELOW ITS FLOOR' : ''}\n`)
  }
  for (const name of new Set([...byFile.keys()].map(folderOf))) {
    if (name in FLOORS) continue
    process.stdout.write(`# ${name}: expected a floor in test/coverage.json, found none\n`)
    isEnough = false
  }
  if (process.env.COVERAGE_FILES) {
    for (const [file, { lines, run }] of [...byFile].sort()) process.stdout.write(`# ${file} ${run} of ${lines}\n`)
  }
  return isEnough
}

/** `load/generators/drivers/vegeta/x.js` belongs to `load/generators/drivers`, and `api/app.js` to `api`. @param {string} file */
function folderOf(file) {
  const parts = path.dirname(file).split(path.sep)
  return parts.slice(0, parts[0] === 'tuning' ? 4 : 3).join('/')
}

/** @param {string} folder @returns {Map<string, { lines: number, run: number }>} by file: lines with code, and those that ran */
function linesOf(folder) {
  const files = ['api', 'sql', 'load', 'tuning'].flatMap((top) =>
    fs
      .readdirSync(path.join(ROOT, top), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js'))
      .map((file) => path.join(top, file)),
  )
  const sources = new Map(files.map((file) => [file, fs.readFileSync(path.join(ROOT, file), 'utf8')]))
  const ran = new Map([...sources].map(([file, { length }]) => [file, new Uint8Array(length)]))
  const prefix = new URL('..', import.meta.url).href
  for (const name of fs.readdirSync(folder)) {
    for (const { url, functions } of coverageIn(path.join(folder, name))) {
      const seen = url.startsWith(prefix) ? ran.get(url.slice(prefix.length)) : undefined
      if (!seen) continue
      // Ranges are nested, and an inner one counts for itself.
      const own = new Uint8Array(seen.length)
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) own.fill(count > 0 ? 1 : 0, startOffset, endOffset)
      }
      for (let i = 0; i < own.length; i++) seen[i] |= own[i]
    }
  }
  return new Map(
    [...sources].map(([file, text]) => [file, countLines(text, /** @type {Uint8Array} */ (ran.get(file)))]),
  )
}

/** @param {string} file @returns {{ url: string, functions: { ranges: { startOffset: number, endOffset: number, count: number }[] }[] }[]} */
function coverageIn(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')).result
  } catch {
    // Of a process that was killed while it wrote.
    return []
  }
}

/** Blank lines, comments and lone brackets are no code. @param {string} text @param {Uint8Array} ran by character */
function countLines(text, ran) {
  let [lines, run, start] = [0, 0, 0]
  for (const line of text.split('\n')) {
    if (/[\w'"`]/.test(line) && !/^\s*(\/\/|\/?\*)/.test(line)) {
      lines++
      const first = start + line.search(/\S/)
      if (ran.subarray(first, start + line.length).includes(1)) run++
    }
    start += line.length + 1
  }
  return { lines, run }
}
