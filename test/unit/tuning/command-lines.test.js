import t from 'tap'
import { main } from '../../../load/run/shell.js'
import { doctor } from '../../../load/verbs/doctor.js'
import { setup } from '../../../load/verbs/setup.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { campaignOf } from '../../../tuning/pages/evidence/campaign.js'
import { history } from '../../../tuning/pages/history/history.js'
import { reportOn } from '../../../tuning/pages/report/report.js'
import * as VERBS from '../../../tuning/verbs.js'
import { createShell } from '../../support/shell.js'

const { 'second-opinion': secondOpinion } = VERBS
const ALL_VERBS = { ...VERBS, sweep, doctor, setup, history, evidence: campaignOf(), report: reportOn(VERBS) }

/** @type {Record<string, [string[], RegExp][]>} */
const WRONG = {
  ramp: [
    [['--price-b', '1/h'], /--price-b: requires --b/],
    [['--storage-a', '1GBx1'], /--storage-a: requires --price-a/],
    [['--driver', 'paced'], /--driver: expected some of .*autocannon/],
    [['--a', 'nowhere.env'], /--a: expected .* got "nowhere.env"/],
    [['--a', 'https://127.0.0.1:1/', '--driver', 'autocannon'], /cannot do https/],
  ],
  tune: [
    [['--preset', 'huge'], /--preset: expected one of limits, pgbouncer, growth, full, article, got "huge"/],
    [['--preset', 'limits', '--knob', 'POOL_MAX=1'], /cannot be combined with --preset/],
    [['--knob', 'POOL_MAX=1', '--knob', 'POOL_MAX=2'], /expected each knob once/],
    [['--knob', 'POOL_MAX=1', '--knob', 'NOFILE=700'], /expected at least two levels of a knob/],
  ],
  'crash-test': [[['--blocks', '0'], /--blocks: expected a whole number from 1 to 10000, got "0"/]],
  generators: [
    [['--blocks', 'none'], /--blocks: expected .*, got "none"/],
    [['--resume', 'results'], /--help lists the flags/],
  ],
  gate: [
    [
      ['--base', 'HEAD', '--start', 'node x.js', '--database-url', 'postgres://a/b'],
      /--database-url: expected a run that loads our own API, got a gate that does not: configure the database/,
    ],
    [[], /--base: expected a commit, branch or tag/],
    [['--url-base', 'http://a.test/'], /--url-base: requires --url-head/],
    [
      ['--base', 'main', '--url-base', 'http://a.test/', '--url-head', 'http://a.test/'],
      /--url-base: cannot be combined/,
    ],
    [['--base', 'main', '--path', '/a'], /--path: requires --start/],
    [['--base', 'main', '--tolerance', '101'], /--tolerance: expected a percentage/],
    [['--base', 'main', '--blocks', '2'], /--blocks: expected a whole number from 3/],
  ],
  simulate: [[['--runs', 'none'], /--runs: expected .*, got "none"/]],
  playbook: [[['--claim', 'nothing'], /--claim: expected one of .* got "nothing"/]],
  faults: [[['--only', 'gremlins'], /--only: expected some of spinning-handler,.* got "gremlins"/]],
}

for (const [verb, wrong] of Object.entries(WRONG)) {
  t.test(`${verb}: a command line that makes no sense is refused with one line`, async (t) => {
    t.ok(wrong.length > 0)
    for (const [flags, message] of wrong) {
      const shell = createShell()
      t.equal(await main(VERBS, [verb, ...flags], shell), 2, flags.join(' '))
      t.equal(shell.said.stdout, '')
      t.match(shell.said.stderr, message)
      t.match(shell.said.stderr, /^redline: [^\n]*\n$/)
    }
  })
}

t.test('--quick asks for less, and a flag beside it wins', async (t) => {
  /** @type {[any, string, Record<string, any>, Record<string, any>][]} */
  const rows = [
    [VERBS.tune, 'blocks', { is_quick: true }, { is_quick: true, blocks: 7000 }],
    [VERBS.bench, 'duration', { repeats: 1, duration_s: 0.5 }, { repeats: 1, duration_s: 7 }],
    [VERBS.generators, 'duration', { blocks: 1, duration_s: 4 }, { blocks: 1, duration_s: 7 }],
    [VERBS.gate, 'blocks', { blocks: 3 }, { blocks: 7000 }],
    [VERBS.simulate, 'runs', { runs: 100 }, { runs: 7000 }],
    [VERBS.faults, 'duration', { duration_s: 1 }, { duration_s: 7 }],
    [VERBS.playbook, 'blocks', { blocks: 1 }, { blocks: 7000 }],
    [VERBS.soak, 'duration', { samples: 9, duration_s: 10 }, { samples: 6, duration_s: 7 / 6 }],
    [VERBS.overload, 'duration', { duration_s: 10 }, { duration_s: 7 }],
    [secondOpinion, 'blocks', { blocks: 1 }, { blocks: 7000 }],
  ]
  for (const [{ name, plan: planOf, flags }, flag, quick, beside] of rows) {
    // Only `faults` knows inside: it then starts no process to see what is possible here; only `gate` knows base.
    const plan = (/** @type {object} */ given) => planOf({ inside: true, base: 'main', ...given })
    t.match(flags.quick, { value: '' }, name)
    t.match(plan({ quick: true }), quick, name)
    t.match(plan({ quick: true, [flag]: 7000 }), beside, name)
    t.notMatch(plan({}), quick, name)
  }
})

t.test('a verb is listed, and explained, by its npm script', async (t) => {
  const [unknown, help] = [createShell(), createShell()]
  t.equal(await main(VERBS, ['nothing'], unknown), 2)
  for (const name of ['crash-test', 'bench:generators', 'simulate', 'soak']) {
    t.match(unknown.said.stderr, new RegExp(`^  npm run ${name} {3,}\\S`, 'm'), name)
  }
  t.equal(await main(VERBS, ['generators', '--help'], help), 0)
  t.match(help.said.stdout, /^npm run bench:generators -- \[flags\]\n/)
})

t.test('every verb has a help with an example, and the flags that all verbs share', async (t) => {
  for (const verb of Object.keys(ALL_VERBS)) {
    const shell = createShell()
    t.equal(await main(ALL_VERBS, [verb, '--help'], shell), 0, verb)
    const [, flags, examples] = shell.said.stdout.split(/^(?:Flags|Examples):$/m)
    for (const flag of ['--out DIR', '--seed', '--json', '--help']) t.match(flags, `\n  ${flag} `, `${verb} ${flag}`)
    t.match(examples, /^ {2}\S/m, verb)
  }
})
