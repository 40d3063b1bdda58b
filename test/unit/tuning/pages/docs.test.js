import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { RESOURCES } from '../../../../load/verdict/resources.js'
import { pages } from '../../../../tuning/pages/docs.js'
import { keptReports } from '../../../../tuning/pages/evidence/evidence.js'
import { commandsOf } from '../../../support/shell-commands.js'

const PAGES = pages()

t.test('the pages quote the committed evidence and the settings as they are (npm run docs)', async (t) => {
  for (const [file, page] of Object.entries(PAGES)) t.equal(readFileSync(file, 'utf8'), page, file)
})

t.test(
  'the reports of the kept runs, and their pictures, say what this version says of the trials (npm run docs)',
  async (t) => {
    const reports = await keptReports()
    t.ok(Object.keys(reports).some((file) => file.endsWith('.svg')))
    const stale = Object.entries(reports).filter(
      ([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text,
    )
    t.strictSame(
      stale.map(([file]) => path.relative('.', file)),
      [],
    )
  },
)

/** Those that quote no evidence. */
const WRITTEN = [
  'CONTRIBUTING.md',
  'load/README.md',
  'tuning/PROOF.md',
  'tuning/experiments/crash-test/README.md',
  'tuning/experiments/gate/README.md',
]

/** A figure that somebody measured: a number with a unit that a measurement has. */
const FIGURE = /\d[\d,.]*\s?(?:%|x\b|us\b|ms\b|MiB\b|req\/s|\/s\b)/g

/** Figures of settings, a trial's plan, the SLO and the rules of a verdict: they are chosen, not measured. */
const GIVEN = ['100 ms', '20 ms', '5 ms', '95 %', '90 %', '75 %', '25 %', '3 %']

t.test('no measured figure stands outside what is generated', async (t) => {
  for (const file of [...Object.keys(PAGES), ...WRITTEN]) {
    const prose = readFileSync(file, 'utf8')
      .replace(/<!-- ([\w-]+) -->.*?<!-- \/\1 -->/gs, '')
      .replace(/```.*?```/gs, '')
      .replace(/`[^`]*`/g, '')
    const figures = (prose.match(FIGURE) ?? []).filter((figure) => !GIVEN.includes(figure))
    t.strictSame(figures, [], file)
  }
})

t.test('a link within the repository leads to what is there', async (t) => {
  const files = [...Object.keys(PAGES), ...WRITTEN].map((name) => path.resolve(name))
  const dead = []
  let links = 0
  for (const file of files) {
    for (const [, to] of readFileSync(file, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(to)) continue
      const [name, anchor] = to.split('#')
      const target = name === '' ? file : path.resolve(path.dirname(file), name)
      links++
      const leads = existsSync(target) && (!anchor || anchorsOf(readFileSync(target, 'utf8')).includes(anchor))
      if (!leads) dead.push(`${to} in ${file}`)
    }
  }
  t.strictSame(dead, [])
  t.ok(links > 20, `there are links to follow: ${links}`)
})

t.test('the playbook has a section for every limit that can be named', async (t) => {
  const anchors = anchorsOf(readFileSync('tuning/PLAYBOOK.md', 'utf8'))
  const names = Object.keys(RESOURCES)
  t.ok(names.length > 20)
  t.strictSame(
    names.filter((name) => !anchors.includes(name)),
    [],
  )
})

/** As GitHub makes them. @param {string} page */
function anchorsOf(page) {
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
    return heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  })
  return [...headings, ...[...page.matchAll(/<a id="([\w-]+)">/g)].map(([, id]) => id)]
}

t.test('a block of commands has a line for each', async (t) => {
  let seen = 0
  for (const file of [...Object.keys(PAGES), ...WRITTEN]) {
    const blocks = [...readFileSync(file, 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, block]) =>
      block.replace(/`[^`]*`/g, ''),
    )
    const lines = blocks.flatMap((block) => block.split('\n'))
    const joined = lines.filter((line) => (line.replaceAll('&& npm', '').match(/npm run /g) ?? []).length > 1)
    t.strictSame(joined, [], file)
    seen += blocks.length
  }
  t.ok(seen > 10, `${seen} blocks`)
})

t.test('README has the commands that CI runs', async (t) => {
  const page = readFileSync('README.md', 'utf8')
  const run = commandsOf(readFileSync('.ci/run', 'utf8'))
  for (const line of ['npm install && npm test', 'npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms']) {
    t.match(page, line)
    const commands = line.split(' && ')
    t.ok(commands.length > 0)
    for (const command of commands) {
      t.ok(
        run.some((one) => one === command || one.startsWith(`${command} `)),
        `CI runs ${command}`,
      )
    }
  }
})

t.test('a command that a script merely prints, or has in a comment, does not count as run', async (t) => {
  const rows = [
    ['npm test', ['npm test']],
    ['npm install && npm test || status=$?', ['npm install', 'npm test', 'status=$?']],
    ["TAP_REPORTER=tap A='b c' bash -c 'npm install && npm test' >\"$report\"", ['npm install', 'npm test']],
    ['npm run sweep -- \\\n  --rates 500', ['npm run sweep -- --rates 500']],
    ["say 'npm install && npm test'", ["say 'npm install && npm test'"]],
    ['echo npm test # npm test', ['echo npm test']],
    ['# npm test', []],
    ['cat <<END\nnpm test\nEND\nls', ['cat', 'ls']],
    ['if ! npm test; then exit 1; fi', ['npm test', 'exit 1']],
    ['nice -n 19 npm test 2>&1 | tail -n 5', ['npm test', 'tail -n 5']],
    ['npm test &', ['npm test']],
    ['say() { printf "$*"; }\nsay npm test', ['say() { printf "$*"', 'say npm test']],
    ['must() { "$@" || status=1; }\nmust npm test', ['must() { "$@"', 'status=1', 'npm test']],
    ['named() {\n  shift\n  "$@"\n}\nnamed x sh -c \'npm test\'', ['named() {', 'shift', '"$@"', 'npm test']],
  ]
  for (const [script, commands] of /** @type {[string, string[]][]} */ (rows)) {
    t.strictSame(commandsOf(script), commands, script)
  }
})

t.test('the pages name every npm script, and no script that is not there', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const page = [...Object.keys(PAGES), ...WRITTEN].map((file) => readFileSync(file, 'utf8')).join('\n')
  t.ok(Object.keys(scripts).length > 20, 'there are scripts to look for')
  const named = new Set(
    [...page.matchAll(/npm (?:run (?:--silent )?([a-z][a-z:-]*)|(install|ci|test|start)\b)/g)].map(
      ([, script, own]) => script ?? own,
    ),
  )
  // prepack and postpack: npm runs them itself.
  for (const name of Object.keys(scripts).filter((script) => !/^(pre|post)/.test(script)))
    t.ok(named.has(name), `npm run ${name} is described`)
  for (const name of named) t.ok(name in scripts || ['install', 'ci'].includes(name), `npm run ${name} is there`)
})
