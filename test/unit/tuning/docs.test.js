import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { pages } from '../../../tuning/docs.js'

t.test('the pages quote the committed evidence as it is (npm run docs)', async (t) => {
  for (const [file, page] of Object.entries(pages())) t.equal(readFileSync(file, 'utf8'), page, file)
})

/** Those that quote no evidence. */
const WRITTEN = ['CONTRIBUTING.md', 'api/README.md', 'load/README.md']

/** A figure that somebody measured: a number with a unit that a measurement has. */
const FIGURE = /\d[\d,.]*\s?(?:%|x\b|us\b|ms\b|MiB\b|req\/s|\/s\b)/g

/** What is said of settings, of a trial's plan, and of the SLO, which nobody measured. */
const GIVEN = ['100 ms', '5 ms']

t.test('no measured figure stands outside what is generated', async (t) => {
  for (const file of [...Object.keys(pages()), ...WRITTEN]) {
    const prose = readFileSync(file, 'utf8')
      .replace(/<!-- ([\w-]+) -->.*?<!-- \/\1 -->/gs, '')
      .replace(/```.*?```/gs, '')
      .replace(/`[^`]*`/g, '')
    const figures = (prose.match(FIGURE) ?? []).filter((figure) => !GIVEN.includes(figure))
    t.strictSame(figures, [], file)
  }
})

t.test('a link within the repository leads to what is there', async (t) => {
  for (const file of [...Object.keys(pages()), ...WRITTEN].map((name) => path.resolve(name))) {
    for (const [, to] of readFileSync(file, 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(to)) continue
      const [name, anchor] = to.split('#')
      const target = name === '' ? file : path.resolve(path.dirname(file), name)
      t.ok(existsSync(target), `${to} in ${file}`)
      if (anchor) t.ok(anchorsOf(readFileSync(target, 'utf8')).includes(anchor), `${to} in ${file}`)
    }
  }
})

/** As GitHub makes them. @param {string} page */
function anchorsOf(page) {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
    return heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-')
  })
}

t.test('README has the commands that CI runs', async (t) => {
  const page = readFileSync('README.md', 'utf8')
  const ci = readFileSync('.ci/run', 'utf8')
  for (const command of ['npm install && npm test', 'npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms']) {
    t.match(page, command)
    t.match(ci, command)
  }
})

t.test('the pages name every npm script, and no script that is not there', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const page = ['README.md', ...WRITTEN].map((file) => readFileSync(file, 'utf8')).join('\n')
  const named = new Set(
    [...page.matchAll(/npm (?:run (?:--silent )?([a-z][a-z:-]*)|(install|ci|test|start)\b)/g)].map(
      ([, script, own]) => script ?? own,
    ),
  )
  for (const name of Object.keys(scripts)) t.ok(named.has(name), `npm run ${name} is described`)
  for (const name of named) t.ok(name in scripts || ['install', 'ci'].includes(name), `npm run ${name} is there`)
})
