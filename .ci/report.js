import fs from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * `node .ci/report.js [--names FILE | --write-names FILE] REPORT.tap…`: reads what tap printed and says what matters of it:
 * all that failed, in full; what was skipped without leave; which tests have disappeared. Exit code 1 for any of them.
 */

/** The only tests that may be skipped, by their reason. Each needs something that no package can install. */
const MAY_SKIP = [
  { reason: /device mapper/i, isMissing: () => !/device-mapper/.test(fs.readFileSync('/proc/misc', 'utf8')) },
  { reason: /control group/, isMissing: () => !fs.existsSync('/sys/fs/cgroup/cpu/cpu.cfs_quota_us') },
  {
    reason: /has to be root|as root/i,
    isMissing: () => process.getuid?.() !== 0 || process.env.REDLINE_CI_USER !== undefined,
  },
]

const options = /** @type {const} */ ({ names: { type: 'string' }, 'write-names': { type: 'string' } })
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const reports = positionals.map((path) => ({ path, text: fs.readFileSync(path, 'utf8') }))
const files = reports.flatMap(({ text }) => filesOf(text))
const names = files.flatMap(namesOf).sort()
const problems = [
  ...files.filter(({ isOk }) => !isOk).map(({ name, lines }) => `failed: ${name}\n${diagnostics(lines)}`),
  ...reports.filter(({ text }) => !/^1\.\.\d+$/m.test(text)).map(({ path }) => `cut off: ${path}`),
  ...files.flatMap(skippedWithoutLeave),
  ...(values.names ? changesOf(fs.readFileSync(values.names, 'utf8').split('\n').filter(Boolean)) : []),
]
if (values['write-names']) fs.writeFileSync(values['write-names'], `${names.join('\n')}\n`)

for (const { name, time_ms } of files.toSorted((a, b) => b.time_ms - a.time_ms).slice(0, 10)) {
  console.log(`${(time_ms / 1000).toFixed(1).padStart(6)} s  ${name}`)
}
for (const problem of problems) console.log(`\n${problem}`)
console.log(`${files.length} files, ${names.length} tests, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1

/** Each test file of a report, with the lines that it printed. @param {string} text */
function filesOf(text) {
  const files = []
  let lines = []
  for (const line of text.split('\n')) {
    const end = /^(not )?ok \d+ - (\S+)(?: # time=([\d.]+)ms)?/.exec(line)
    if (end) {
      files.push({ name: end[2], isOk: !end[1], time_ms: Number(end[3] ?? 0), lines })
      lines = []
    } else lines.push(line)
  }
  return files
}

/** All but the tests and the assertions that passed. @param {string[]} lines */
function diagnostics(lines) {
  const kept = []
  let test = []
  for (const line of lines) {
    if (!/^\s+ok \d+ - /.test(line) && line.trim() !== '') test.push(line)
    if (/^ {4}not ok /.test(line)) kept.push(...test.splice(0))
    else if (/^ {4}ok /.test(line)) test = []
  }
  return [...kept, ...test].join('\n')
}

/** @param {{ name: string, lines: string[] }} file */
function skippedWithoutLeave({ name, lines }) {
  const skips = lines.flatMap((line) => /^ *ok \d+ - (?<test>.*?) # SKIP ?(?<reason>.*)$/.exec(line)?.groups ?? [])
  return skips
    .filter(({ reason }) => !MAY_SKIP.some((leave) => leave.reason.test(reason) && leave.isMissing()))
    .map(({ test, reason }) => `skipped, but has to run here: ${name} > ${test}: ${reason}`)
}

/** The tests of a file. @param {{ name: string, lines: string[] }} file */
function namesOf({ name, lines }) {
  const tests = lines.flatMap((line) => {
    return /^ {4}(?:not )?ok \d+ - (.*?)(?: # (?:SKIP|TODO|time=).*)?$/.exec(line)?.[1] ?? []
  })
  // A bundle puts the file's name before each test's.
  return [...new Set(tests)].map((test) => (/^test\/(system-)?bundles\//.test(name) ? test : `${name} > ${test}`))
}

/** @param {string[]} kept names of tests */
function changesOf(kept) {
  const gone = kept.filter((name) => !names.includes(name)).map((name) => `a test has disappeared: ${name}`)
  const added = names.filter((name) => !kept.includes(name)).map((name) => `a test is not in ${values.names}: ${name}`)
  return [...gone, ...added]
}
