import { readFileSync } from 'node:fs'
import t from 'tap'
import { readme } from '../../tuning/docs.js'

t.test('README quotes the committed evidence as it is (npm run docs)', async (t) => {
  t.equal(readFileSync('README.md', 'utf8'), readme())
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
