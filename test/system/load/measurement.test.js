import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { wholeNumber } from '../../../load/command/flags.js'
import { answer } from '../../../load/report/blocks.js'
import { main } from '../../../load/run/shell.js'
import { reportOn } from '../../../tuning/pages/report/report.js'
import { createShell } from '../../support/shell.js'
import { memoryFolder } from '../../support/simulated/verb.js'

/** @import { Measurement } from '../../../load/run/experiment.js' */

/** Counts, until something happens at a number. @param {(number: number) => void} [onNumber] @returns {Measurement} */
const counting = (onNumber = () => {}) => ({
  name: 'counting',
  about: 'how far does it count?',
  examples: '  npm run counting -- --to 5',
  flags: { to: { value: 'N', about: 'the last number', ...wholeNumber(1, 9) } },
  plan: ({ to = 3 }) => ({ to }),
  async *measure({ to }, { signal, progress }) {
    for (let number = 1; number <= to; number++) {
      onNumber(number)
      signal.throwIfAborted()
      progress.note(`${number} of ${to}`)
      yield { number }
    }
  },
  analyse: (plan, rows) => ({ problem: plan.to > 5 ? 'it cannot count beyond 5' : null, last: rows.at(-1).number }),
  report: ({ last }) => [answer(`It counts to ${last}.`)],
})

/** @param {any} t @param {string[]} argv @param {(number: number, interrupt: () => void) => void} [onNumber] */
async function count(t, argv, onNumber = () => {}) {
  const out = path.join(memoryFolder(t), 'run')
  const controller = new AbortController()
  const interrupt = () => controller.abort(new Error('SIGINT'))
  const shell = createShell({ signal: controller.signal })
  const verb = counting((number) => onNumber(number, interrupt))
  const code = await main({ counting: verb }, ['counting', ...argv, '--out', out], shell)
  const kept = fs.existsSync(out) ? fs.readdirSync(out).filter((name) => !name.startsWith('lock-')) : null
  return {
    out,
    code,
    kept,
    ...shell.said,
    run: kept && JSON.parse(fs.readFileSync(path.join(out, 'run.json'), 'utf8')),
  }
}

t.test('a measurement keeps its rows and writes its report', async (t) => {
  const { out, code, kept, stdout, stderr, run } = await count(t, ['--to', '2'])
  t.equal(code, 0)
  t.strictSame(kept?.sort(), ['junit.xml', 'report.html', 'report.md', 'run.json'])
  t.match(run, { verb: 'counting', plan: { to: 2 }, interrupted: false, problem: null, machine: { cores: Number } })
  t.strictSame(run.rows, [{ number: 1 }, { number: 2 }])
  t.equal(stderr, '1 of 2\n2 of 2\n')
  t.equal(stdout, `\nIt counts to 2.\n\n${out}/report.md\n${out}/report.html\n`)
  const report = fs.readFileSync(`${out}/report.md`, 'utf8')
  t.match(report, /^# Redline counting: \S+\n\nIt counts to 2\.\n\n## How it was measured\n/)
  t.match(report, `- Command: \`npm run counting -- --to 2 --out ${out}\`.\n\n## Machine and versions\n`)
  t.notMatch(report, /undefined|NaN|not ours/)

  const shell = createShell()
  const again = { report: reportOn({ counting: counting() }) }
  t.equal(await main(again, ['report', out], shell), 0, shell.said.stderr)
  t.equal(fs.readFileSync(`${out}/report.md`, 'utf8'), report, 'the report is derived from run.json')
  t.equal(await main(again, ['report', out, out], shell), 2)
  t.match(shell.said.stderr, /expected runs with trials, got .*, a counting, which has none/)
})

t.test('--json writes the run to stdout, and nothing else', async (t) => {
  const { out, stdout, run } = await count(t, ['--json'])
  t.strictSame(JSON.parse(stdout), { ...run, folder: out })
})

t.test('without a trustworthy answer the exit code is 1, and the report begins with the problem', async (t) => {
  const { out, code, stderr } = await count(t, ['--to', '6'])
  t.equal(code, 1)
  t.match(stderr, 'redline: no trustworthy answer: it cannot count beyond 5')
  t.match(
    fs.readFileSync(`${out}/report.md`, 'utf8'),
    'No trustworthy answer: it cannot count beyond 5. It counts to 6.',
  )
})

t.test('Ctrl-C keeps what was measured, or nothing where that is nothing', async (t) => {
  const at = (/** @type {number} */ last) => (/** @type {number} */ number, /** @type {() => void} */ interrupt) => {
    if (number === last) interrupt()
  }
  const late = await count(t, [], at(3))
  t.equal(late.code, 130)
  t.match(late.run, { interrupted: true, problem: null })
  t.strictSame(late.run.rows, [{ number: 1 }, { number: 2 }])
  t.match(late.stderr, `interrupted; what it measured is in ${late.out}\n`)
  t.match(
    fs.readFileSync(`${late.out}/report.md`, 'utf8'),
    '- The run was interrupted; this is what it had measured so far.',
  )
  const early = await count(t, [], at(1))
  t.equal(early.code, 130)
  t.equal(early.kept, null)
})

t.test('a measurement that breaks off keeps what it has, and says why', async (t) => {
  const breakAt = (/** @type {number} */ last) => (/** @type {number} */ number) => {
    if (number === last) throw new Error('out of fingers')
  }
  const late = await count(t, [], breakAt(2))
  t.equal(late.code, 1)
  t.equal(late.run.problem, 'the run broke off: out of fingers')
  const early = await count(t, [], breakAt(1))
  t.equal(early.code, 1)
  t.match(early.stderr, 'out of fingers')
  t.equal(early.kept, null)
})

t.test('--help has the flags and an example; a wrong flag is refused before anything is written', async (t) => {
  const shell = createShell()
  t.equal(await main({ counting: counting() }, ['counting', '--help'], shell), 0)
  t.match(shell.said.stdout, /^npm run counting -- \[flags\]\n\nHow far does it count\?\n/)
  for (const part of ['--to N', '--out DIR', '--json', 'npm run counting -- --to 5']) t.match(shell.said.stdout, part)
  t.notMatch(shell.said.stdout, '--resume')
  const wrong = await count(t, ['--to', 'x'])
  t.equal(wrong.code, 2)
  t.match(wrong.stderr, /^redline: --to: expected a whole number from 1 to 9, got "x"\n$/)
  t.equal(wrong.kept, null)
})
