import { readFileSync } from 'node:fs'
import t from 'tap'
import { pages } from '../../tuning/docs.js'

t.test('the pages quote the committed evidence as it is (npm run docs)', async (t) => {
  for (const [file, page] of Object.entries(pages())) t.equal(readFileSync(file, 'utf8'), page, file)
})

/** A figure that somebody measured: a number with a unit that a measurement has. */
const FIGURE = /\d[\d,.]*\s?(?:%|x\b|us\b|ms\b|MiB\b|req\/s|\/s\b)/g

/** What is said of settings, of a trial's plan, and of the SLO, which nobody measured. */
const GIVEN = ['100 ms', '5 ms']

t.test('no measured figure stands outside what is generated', async (t) => {
  for (const file of Object.keys(pages())) {
    const prose = readFileSync(file, 'utf8')
      .replace(/<!-- ([\w-]+) -->.*?<!-- \/\1 -->/gs, '')
      .replace(/```.*?```/gs, '')
      .replace(/`[^`]*`/g, '')
    const figures = (prose.match(FIGURE) ?? []).filter((figure) => !GIVEN.includes(figure))
    t.strictSame(figures, [], file)
  }
})

t.test('README has the commands that CI runs', async (t) => {
  const page = readFileSync('README.md', 'utf8')
  const ci = readFileSync('.ci/run', 'utf8')
  for (const command of ['npm install && npm test', 'npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms']) {
    t.match(page, command)
    t.match(ci, command)
  }
})

t.test('README names every npm script, and no script that is not there', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const page = readFileSync('README.md', 'utf8') + readFileSync('CONTRIBUTING.md', 'utf8')
  const named = new Set(
    [...page.matchAll(/npm (?:run (?:--silent )?([a-z][a-z:-]*)|(install|ci|test|start)\b)/g)].map(
      ([, script, own]) => script ?? own,
    ),
  )
  for (const name of Object.keys(scripts)) t.ok(named.has(name), `npm run ${name} is described`)
  for (const name of named) t.ok(name in scripts || ['install', 'ci'].includes(name), `npm run ${name} is there`)
})
