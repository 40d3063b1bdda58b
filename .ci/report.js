import fs from 'node:fs'

/**
 * `node .ci/report.js [--names FILE | --write-names FILE] REPORT.tap…`: reads what tap printed and says what matters of it:
 * all that failed, in full; what was skipped without leave; which tests have disappeared. Exit code 1 for any of them.
 */

/** The only tests that may be skipped. Each needs something that no package can install. */
const MAY_SKIP = [
  {
    feature: 'device-mapper in the kernel',
    isMissing: () => !textOf('/proc/misc').includes('device-mapper'),
    reason: /device mapper/i,
  },
  {
    feature: 'version 1 of control groups for CPU',
    isMissing: () => !fs.existsSync('/sys/fs/cgroup/cpu/cpu.cfs_quota_us'),
    reason: /control group/,
  },
  {
    feature: 'root',
    isMissing: () => process.getuid?.() !== 0 || process.env.REDLINE_CI_USER !== undefined,
    reason: /has to be root|as root/i,
  },
]

const { names, writeNames, reports } = argumentsOf(process.argv.slice(2))
const files = reports.flatMap((report) => filesOf(fs.readFileSync(report, 'utf8')))
const problems = [
  ...files.filter(({ isOk }) => !isOk).map(({ name, lines }) => `failed: ${name}\n${diagnostics(lines)}`),
  ...reports.filter((report) => !/^1\.\.\d+$/m.test(textOf(report))).map((report) => `cut off: ${report}`),
  ...files.flatMap(skippedWithoutLeave),
  ...(names ? nameProblems(namesOf(files), linesOf(names)) : []),
]
if (writeNames) fs.writeFileSync(writeNames, `${namesOf(files).join('\n')}\n`)

for (const { name, time_ms } of [...files].sort((a, b) => b.time_ms - a.time_ms).slice(0, 10)) {
  console.log(`${(time_ms / 1000).toFixed(1).padStart(6)} s  ${name}`)
}
for (const problem of problems) console.log(`\n${problem}`)
const { total, pass, skip } = totals(reports)
console.log(`${files.length} files, ${total} checks: ${pass} passed, ${total - pass - skip} failed, ${skip} skipped`)
process.exitCode = problems.length === 0 ? 0 : 1

/** @param {string[]} argv */
function argumentsOf(argv) {
  const flagValue = (/** @type {string} */ flag) => (argv.includes(flag) ? argv[argv.indexOf(flag) + 1] : undefined)
  const values = [flagValue('--names'), flagValue('--write-names')]
  return {
    names: values[0],
    writeNames: values[1],
    reports: argv.filter((word) => !word.startsWith('--') && !values.includes(word)),
  }
}

/**
 * @typedef {{ name: string, isOk: boolean, time_ms: number, lines: string[] }} TestFile
 * @param {string} text
 * @returns {TestFile[]} one for each test file of a report
 */
function filesOf(text) {
  const files = []
  let lines = /** @type {string[]} */ ([])
  for (const line of text.split('\n')) {
    const end = /^(not )?ok \d+ - (\S+)(?: # time=([\d.]+)ms)?/.exec(line)
    if (!end) {
      lines.push(line)
      continue
    }
    files.push({ name: end[2], isOk: !end[1], time_ms: Number(end[3] ?? 0), lines })
    lines = []
  }
  return files
}

/** All but the tests and the assertions that passed. @param {string[]} lines */
function diagnostics(lines) {
  const kept = /** @type {string[]} */ ([])
  let test = /** @type {string[]} */ ([])
  for (const line of lines) {
    if (!/^\s+ok \d+ - /.test(line) && line.trim() !== '') test.push(line)
    if (/^ {4}not ok /.test(line)) kept.push(...test.splice(0))
    else if (/^ {4}ok /.test(line)) test = []
  }
  return [...kept, ...test].join('\n')
}

/** @param {TestFile} file @returns {string[]} */
function skippedWithoutLeave({ name, lines }) {
  const skips = lines.flatMap((line) => /^ *ok \d+ - (?<test>.*?) # SKIP ?(?<reason>.*)$/.exec(line)?.groups ?? [])
  return skips
    .filter(({ reason }) => !MAY_SKIP.some((leave) => leave.isMissing() && leave.reason.test(reason)))
    .map(({ test, reason }) => `skipped, but has to run here: ${name} > ${test}: ${reason}`)
}

/** @param {TestFile[]} files @returns {string[]} the tests of each file, sorted */
function namesOf(files) {
  return files
    .flatMap(({ name, lines }) => {
      const tests = lines.flatMap(
        (line) => /^ {4}(?:not )?ok \d+ - (.*?)(?: # (?:SKIP|TODO|time=).*)?$/.exec(line)?.[1] ?? [],
      )
      // A bundle puts the file's name before each test's.
      return [...new Set(tests)].map((test) => (/^test\/(system-)?bundles\//.test(name) ? test : `${name} > ${test}`))
    })
    .sort()
}

/** @param {string[]} now @param {string[]} kept */
function nameProblems(now, kept) {
  const gone = kept.filter((name) => !now.includes(name)).map((name) => `a test has disappeared: ${name}`)
  const added = now.filter((name) => !kept.includes(name)).map((name) => `a test is not in ${names}: ${name}`)
  return [...gone, ...added]
}

/** @param {string[]} paths */
function totals(paths) {
  const sum = (/** @type {string} */ word) => {
    const counts = paths.flatMap((report) => [
      ...textOf(report).matchAll(new RegExp(`^# \\{.*\\b${word}: (\\d+)`, 'gm')),
    ])
    return counts.reduce((all, [, count]) => all + Number(count), 0)
  }
  return { total: sum('total'), pass: sum('pass'), skip: sum('skip') }
}

/** @param {string} file */
function linesOf(file) {
  return textOf(file).split('\n').filter(Boolean)
}

/** @param {string} file '' where there is none */
function textOf(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
