import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { SETTINGS } from '../../../api/settings.js'
import { processesOf, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { without } from '../../support/skip.js'

/** @import { ChildProcess } from 'node:child_process' */

const own = process.env.DATABASE_URL ? null : await newDatabase(t)
const env = { DATABASE_URL: own?.url ?? process.env.DATABASE_URL }

t.test('it lists what it looked at, and its exit code is its verdict', async (t) => {
  const { code, stdout, stderr } = await startLab(['doctor', '--json', '--rate', '100'], env).ended
  const { plan, ceiling, findings, problem } = JSON.parse(stdout)
  t.match(plan, {
    connections: 256,
    pool_max: SETTINGS.POOL_MAX.default,
    backlog: SETTINGS.LISTEN_BACKLOG.default,
    rate_rps: 100,
  })
  t.ok(ceiling.ceiling_rps > 100, 'the null server was loaded')
  t.match(ceiling, {
    generator_core_ratio: Number,
    server_core_ratio: Number,
    bound_by: /^(generator|server|neither)$/,
  })
  const bad = findings.filter((/** @type {any} */ { level }) => level === 'bad')
  t.equal(code, bad.length > 0 ? 1 : 0, 'however noisy this machine is now')
  t.equal(problem === null, bad.length === 0)
  const byCheck = Object.fromEntries(findings.map((/** @type {any} */ finding) => [finding.check, finding]))
  for (const check of ['generator-nofile', 'api-nofile', 'ports', 'backlog', 'pool', 'generator-ceiling']) {
    t.equal(byCheck[check].level, 'ok', `${check}: ${byCheck[check].value}`)
  }
  t.match(byCheck.pool.value, /^\d+ free \(max_connections \d+, \d+ reserved, \d+ used\), 20 needed$/)
  t.match(stderr, /^looking at this machine …\nmeasuring what the generator can do …\n/)
})

t.test(
  'limits are judged by what is planned, with why and what to do',
  { skip: without('prlimit', '--version') },
  async (t) => {
    const planned = ['--connections', '40000', '--rate', '1000000']
    const command = ['--nofile=100:100', process.execPath, 'load/cli.js', 'doctor', ...planned]
    const { code, stdout, stderr } = await ended(
      spawn('prlimit', command, { env: { ...process.env, ...env, POOL_MAX: '10000' } }),
    )
    t.equal(code, 1)
    t.match(
      stdout,
      /^bad +open files, generator +hard limit 100 \(soft 100\), 40,032 needed\n +why: .*\n +fix: +raise both/m,
    )
    t.match(stdout, /^bad +open files, API +hard limit 100 \(soft 100\), 50,058 needed\n/m)
    t.match(stdout, /^bad +database connections +\d+ free .*, 10,000 needed\n +why: .*\n +fix: +set POOL_MAX=/m)
    t.match(stdout, /^warn +accept queue +511 .* 40,000 may arrive at once\n/m)
    t.match(stdout, /^(bad|warn) +what the generator can do +[\d,]+\/s .*1,000,000\/s planned\n/m)
    t.match(stdout, /\n\n\d+ bad, \d+ warn, \d+ unseen, \d+ ok\n$/)
    t.match(stderr, /redline: no trustworthy answer: a run here would be spoiled: .*database connections/)
  },
)

t.test('Ctrl-C while it loads the null server leaves nothing behind', async (t) => {
  const temporary = temporaryFolder(t)
  const lab = startLab(['doctor'], { TMPDIR: temporary })
  await lab.stderrHas('measuring what the generator can do')
  lab.child.kill('SIGINT')
  const { code, stdout } = await lab.ended
  t.equal(code, 130)
  t.equal(stdout, '')
  t.strictSame(processesOf(temporary), [])
})

/** @param {ChildProcess} child */
async function ended(child) {
  const output = { stdout: '', stderr: '' }
  for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
    child[name]?.on('data', (chunk) => {
      output[name] += chunk
    })
  }
  const [code] = await once(child, 'close')
  return { code, ...output }
}
