import t from 'tap'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { CURVES } from '../../../tuning/experiments/simulate/curves.js'
import { readRun, runVerb, temporaryFolder } from '../../support/lab.js'

t.test('simulate: the same seed gives the same table, one row for each service', async (t) => {
  const folder = temporaryFolder(t)
  const runs = []
  for (const [i, seed] of ['1', '1', '2'].entries()) {
    const out = `${folder}/${i}`
    const { status, stderr } = await runVerb('simulate', ['--runs', '20', '--seed', seed, '--out', out])
    t.equal(status, 0, stderr)
    runs.push(readRun(out).rows)
  }
  const [first, again, other] = runs
  t.strictSame(first, again)
  t.strictSame(
    first.map((/** @type {any} */ { service }) => service),
    Object.keys(CURVES),
  )
  t.strictNotSame(first, other, 'another seed, another table')
})

t.test('bench:generators: every open-loop driver is measured, and wrk for reference', async (t) => {
  const flags = ['--blocks', '1', '--duration', '1s', '--rate', '200', '--out', `${temporaryFolder(t)}/out`]
  const { status, stdout, stderr } = await runVerb('generators', flags)
  t.equal(status, 0, stderr)
  const measured = Object.values(DRIVERS).filter(({ name, loop }) => loop === 'open' || name === 'wrk')
  const rows = [...stdout.matchAll(/^\| (\S.*?) *\|/gm)].map(([, cell]) => cell).slice(2)
  t.strictSame(
    rows,
    measured.map(({ name }) => name),
  )
  t.notMatch(stdout, /NaN/)
})
