import { spawnSync } from 'node:child_process'
import t from 'tap'
import { DRIVERS } from '../../../load/generators/drivers/index.js'

/** @param {string} script @param {string[]} args */
function run(script, ...args) {
  return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', timeout: 120_000 })
}

const tableOf = (/** @type {string} */ text) => text.split('\n\n')[0]

/** The cells of a markdown table's first column, without its head and the line below it. @param {string} text */
const rowsOf = (text) => [...text.matchAll(/^\| (\S.*?) *\|/gm)].map(([, cell]) => cell).slice(2)

t.test('simulate: the same seed gives the same table, one row for each service', (t) => {
  const [first, again, other] = ['1', '1', '2'].map((seed) =>
    run('tuning/experiments/simulate/simulate.js', '--runs', '20', '--seed', seed),
  )
  t.equal(first.status, 0, first.stderr)
  t.equal(first.stdout, again.stdout)
  t.not(rowsOf(first.stdout).length, 0)
  t.not(tableOf(first.stdout), tableOf(other.stdout), 'another seed, another table')
  t.end()
})

t.test('bench:generators: each open-loop driver offers its requests', (t) => {
  const { status, stdout, stderr } = run(
    'tuning/experiments/generators/generators.js',
    '--rounds',
    '1',
    '--duration',
    '1s',
    '--rate',
    '200',
  )
  t.equal(status, 0, stderr)
  const open = Object.values(DRIVERS).filter(({ loop }) => loop === 'open')
  t.strictSame(
    rowsOf(stdout),
    open.map(({ name }) => name),
  )
  t.notMatch(stdout, /NaN/)
  t.end()
})

t.test('an invalid flag is reported, with exit code 2', (t) => {
  for (const [script, flag] of [
    ['tuning/experiments/simulate/simulate.js', '--runs'],
    ['tuning/experiments/generators/generators.js', '--rounds'],
  ]) {
    const { status, stdout, stderr } = run(script, flag, 'none')
    t.equal(status, 2, script)
    t.match(stderr, new RegExp(`^redline: ${flag}: expected .*, got "none"`))
    t.equal(stdout, '')
  }
  t.end()
})
