import fs from 'node:fs'
import t from 'tap'
import { renderReport } from '../../../load/report/report.js'
import { openDatabase } from '../../../sql/database.js'
import { rows } from '../../support/database.js'
import { processesOf, readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer, limited } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

/** Tests run beside each other: what is slow for that is no failure, and nobody is turned away for it. */
const SHORT = ['--duration', '1s', '--warmup', '300ms', '--slo-p99', '5s']
const PATIENT = { MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0', POOL_CONNECT_TIMEOUT_MS: '30000' }
const folder = temporaryFolder(t)
const LIMIT_RPS = 2000
const own = process.env.DATABASE_URL ? null : await newDatabase(t)
const databaseUrl = own?.url ?? process.env.DATABASE_URL ?? ''

/** @param {string} name @param {string[]} argv @param {Record<string, string | undefined>} [env] */
async function sweep(name, argv, env) {
  const out = `${folder}/${name}`
  const ended = await startLab(['sweep', ...SHORT, '--out', out, ...argv], {
    DATABASE_URL: databaseUrl,
    ...PATIENT,
    ...env,
  }).ended
  return { ...ended, out }
}

t.test('a ladder of rates: a record each, every 201 a row', async (t) => {
  const { code, stdout, stderr, out } = await sweep('paced', ['--rates', '300,600', '--seed', '7'])
  t.equal(code, 0, stderr)
  const trials = readTrials(out)
  t.equal(trials.length, 2)
  for (const [i, rate_rps] of [300, 600].entries()) {
    t.match(trials[i], {
      trial: i + 1,
      experiment: 'sweep',
      cell: null,
      settings: { POOL_MAX: 20, INSERT_MODE: 'batched', NOFILE: Number },
      target: { kind: 'local', url: /^http:\/\/127\.0\.0\.1:\d+\/user$/, pid: Number },
      load: {
        driver: 'paced',
        loop: 'open',
        rate_rps,
        connections: 256,
        mix: 'create-user',
        warmup_s: 0.3,
        duration_s: 1,
      },
      traffic: {
        sent: rate_rps,
        completed: rate_rps,
        rows_stored: rate_rps,
        success_ratio: 1,
        status: { 201: rate_rps },
        errors: {},
      },
      outcome: { verdict: 'pass' },
      limit: { resource: 'none-reached', confirmed: null },
    })
    t.match(Object.keys(trials[i].traffic.latency_ms), [
      'min',
      'mean',
      'p25',
      'p50',
      'p75',
      'p90',
      'p95',
      'p99',
      'p999',
      'max',
    ])
    t.strictSame(Object.keys(trials[i].probes), ['api', 'postgres', 'generator', 'kernel'])
  }
  const run = readRun(out)
  t.match(run, {
    run_id: trials[0].run_id,
    verb: 'sweep',
    machine: { cpu_model: String, cores: Number, memory_bytes: Number, kernel: String },
    versions: { node: process.version, postgres: String, driver: /^paced/ },
    capacity: { low_rps: 600, high_rps: null, trials: 2, slo: { p99_ms: 5000 } },
    interrupted: false,
  })
  const report = fs.readFileSync(`${out}/report.md`, 'utf8')
  const text = report.replace(/(## Second by second\n\n)?!\[.*\]\((\w+)\.svg\)\n\n/g, '')
  t.equal(text, renderReport(run, trials), 'the report is derived from the two')
  const pictures = [...report.matchAll(/\]\((\w+\.svg)\)/g)].map(([, name]) => name)
  t.ok(pictures.length > 2 && pictures.every((name) => fs.existsSync(`${out}/${name}`)), 'its pictures lie beside it')
  t.match(stdout, /\| +600\/s \| +[56]\d\d\/s \| +100 % \|.*\| pass +\|/)
  t.match(stdout, /Capacity: at least 600\/s/)
  t.match(stderr, /^trial 1: offered 300\/s, achieved \d+\/s, pass/m, 'plain lines where stderr is no terminal')
  t.match(
    await rows(databaseUrl, 'SELECT count(*)::int FROM redline_lab.users'),
    [{ count: 600 + 180 }],
    'emptied before each trial',
  )
})

t.test('the same with vegeta', { skip: withoutDriver('vegeta') }, async (t) => {
  const { code, stderr, out } = await sweep('vegeta', ['--rates', '300,600', '--driver', 'vegeta'])
  t.equal(code, 0, stderr)
  for (const { traffic, outcome } of readTrials(out)) {
    t.equal(outcome.verdict, 'pass', outcome.because)
    t.equal(traffic.rows_stored, traffic.status[201])
  }
})

t.test('a ladder of connections in a closed loop', async (t) => {
  const { code, stderr, out } = await sweep('closed', ['--driver', 'autocannon', '--connections', '1,8'])
  t.equal(code, 0, stderr)
  const trials = readTrials(out)
  t.equal(trials.length, 2)
  for (const { load, traffic, outcome } of trials) {
    t.match(load, { loop: 'closed', rate_rps: null })
    t.equal(traffic.rows_stored, traffic.status[201])
    t.equal(outcome.verdict, 'pass', outcome.because)
  }
})

t.test('without rates: the capacity is searched for, and the limit named', async (t) => {
  const url = await httpServer(t, limited(LIMIT_RPS, LIMIT_RPS / 10))
  const { code, stderr, stdout, out } = await sweep('default', ['--url', url, '--duration', '500ms', '--timeout', '2s'])
  t.equal(code, 0, stderr)
  const trials = readTrials(out)
  t.match(trials[0], { experiment: 'plateau', load: { driver: 'autocannon', loop: 'closed' } })
  const { capacity, limit } = readRun(out)
  t.match(capacity, { low_rps: Number, high_rps: Number, trials: Number, confidence: Number, slo: { p99_ms: 5000 } })
  t.ok(capacity.high_rps / capacity.low_rps < 1.12, `${capacity.low_rps} to ${capacity.high_rps}: within +-5 %`)
  // What the limiter lets through at once is 10 % of a second, and a trial lasts less than one.
  t.ok(capacity.low_rps > 0.8 * LIMIT_RPS && capacity.high_rps < 1.5 * LIMIT_RPS)
  t.match(limit, { resource: 'rate-limit', confirmed: null }, 'nothing of a service behind a URL is ours to relax')
  t.match(stdout, /Capacity: [\d,.]+ to [\d,.]+\/s, \+-[\d.]+ %/)
  t.match(stdout, /Limit: rate-limit: something in front of the service limits the rate/)
  t.match(stdout, /Seen from outside only/)
})

t.test('--json prints the answer and nothing else', async (t) => {
  const { code, stdout } = await sweep('json', ['--rates', '100', '--json'])
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { verb: 'sweep', capacity: { low_rps: 100 }, folder: /json$/ })
})

t.test('--url loads what runs already, with what it is told to send, and counts no rows', async (t) => {
  /** @type {any[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    seen.push([req.method, req.url, req.headers['x-test'], (await req.toArray()).join('')])
    res.writeHead(200, { 'Content-Length': 0 }).end()
  })
  fs.writeFileSync(`${folder}/body`, '{"ping":true}')
  const what = [
    '--method',
    'PUT',
    '--header',
    'X-Test: yes',
    '--header',
    'Authorization: Bearer hunter2',
    '--body',
    `${folder}/body`,
  ]
  const { code, stderr, out } = await sweep('url', ['--url', url, '--rates', '50', ...what], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  })
  t.equal(code, 0, stderr)
  t.equal(seen.length, 50 + 15)
  t.ok(seen.every((one) => one.join() === 'PUT,/user,yes,{"ping":true}'))
  t.match(readTrials(out)[0], {
    target: { kind: 'url', url, pid: null },
    traffic: { rows_stored: null, status: { 200: 50 } },
    outcome: { verdict: 'pass' },
  })
  for (const file of fs.readdirSync(out)) {
    t.notMatch(fs.readFileSync(`${out}/${file}`, 'utf8'), 'hunter2', `credentials stay out of ${file}`)
  }
  const resumed = await startLab(['sweep', '--resume', out]).ended
  t.match(resumed, { code: 2, stderr: /secrets on its command line were not kept/ })
})

t.test('a rate that is not met fails, and the capacity lies below it', async (t) => {
  const url = await httpServer(t, (req, res) => setTimeout(created, 40, req, res))
  const { code, stdout, out } = await sweep('fail', [
    '--url',
    url,
    '--rates',
    '20,400',
    '--connections',
    '2',
    '--timeout',
    '1s',
  ])
  t.equal(code, 0, 'the run answered')
  t.strictSame(
    readTrials(out).map(({ outcome }) => outcome.verdict),
    ['pass', 'fail'],
  )
  t.match(readRun(out).capacity, { low_rps: 20, high_rps: 400 })
  t.match(stdout, /Capacity: 20 to 400\/s/)
})

t.test('a database that loses acknowledged rows makes the trials invalid, and the run has no answer', async (t) => {
  const { url } = await newDatabase(t)
  // The lab makes its table on the first run; the next one finds the trigger on it.
  const lossy = await openDatabase(url)
  await lossy.close()
  await rows(
    lossy.url,
    'CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM users WHERE id % 10 = 0; RETURN NULL; END $$',
  )
  await rows(lossy.url, 'CREATE TRIGGER lose AFTER INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION lose()')
  const { code, stderr, out } = await sweep('lossy', ['--rates', '100'], { DATABASE_URL: url })
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: 1 of the loads asked for had no valid trial/)
  const trials = readTrials(out)
  t.equal(trials.length, 3, 'it was repeated')
  for (const { outcome } of trials)
    t.match(outcome, { verdict: 'invalid', because: /^100 requests were answered 201, 9\d rows were stored/ })
})

t.test('settings come from the environment and are read back from the process', async (t) => {
  const { code, out } = await sweep('settings', ['--rates', '50'], { POOL_MAX: '3', INSERT_MODE: 'single' })
  t.equal(code, 0)
  t.match(readTrials(out)[0].settings, { POOL_MAX: 3, INSERT_MODE: 'single' })
})

t.test('a service that answers nothing right has no capacity to speak of', async (t) => {
  const url = await httpServer(t, (req, res) => {
    req.resume()
    res.writeHead(500, { 'Content-Length': 0 }).end()
  })
  const { code, stderr } = await sweep('no-success', ['--url', url, '--rates', '20'])
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: not one request succeeded/)
  const plateau = await sweep('no-plateau', ['--url', url, '--duration', '500ms'])
  t.equal(plateau.code, 1)
  t.match(plateau.stderr, /the closed loop that looks for the plateau found none/)
  t.ok(
    readTrials(plateau.out).every(({ load }) => load.loop === 'closed'),
    'and no rate is made up',
  )
})

t.test(
  'an https service is searched by a client that checks certificates; credentials stay out of the files',
  async (t) => {
    const flags = ['--url', 'https://127.0.0.1:1/', '--header', 'Authorization: Bearer x', '--duration', '500ms']
    const { code, stderr, out } = await sweep('https', flags)
    t.equal(code, 1)
    t.match(stderr, /the closed loop that looks for the plateau found none/)
    t.ok(readTrials(out).every(({ load }) => load.driver === 'client'))
    t.notMatch(fs.readFileSync(`${out}/run.json`, 'utf8'), /Bearer/)
  },
)

t.test('what is wrong ends with exit code 2 and one line', async (t) => {
  fs.mkdirSync(`${folder}/taken`, { recursive: true })
  fs.writeFileSync(`${folder}/taken/run.json`, '{}')
  /** @type {[string, string[], Record<string, string>, RegExp][]} */
  const wrong = [
    ['a flag', ['--rates', 'fast'], {}, /--rates: expected whole numbers .* got "fast"/],
    ['the API’s configuration', ['--rates', '10'], { POOL_MAX: '0' }, /POOL_MAX: expected a whole number from 1/],
    [
      'a dead database',
      ['--rates', '10'],
      { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      /expected a Postgres that answers/,
    ],
    ['a folder with a run', ['--out', `${folder}/taken`], {}, /--out: expected a folder without a run/],
    ['nothing to resume', ['--resume', `${folder}/nothing`], {}, /--resume: expected a results folder/],
    [
      'autocannon with https',
      ['--driver', 'autocannon', '--url', 'https://127.0.0.1:1'],
      {},
      /does not check certificates/,
    ],
  ]
  for (const [about, argv, env, message] of wrong) {
    const { code, stdout, stderr } = await sweep(`wrong-${about.replace(/\W/g, '-')}`, argv, env)
    t.equal(code, 2, about)
    t.match(stderr, message, about)
    t.equal(stderr.replace('starting Postgres …\n', '').trim().split('\n').length, 1, `${about}: ${stderr}`)
    t.equal(stdout, '')
  }
  const { code, stderr } = await startLab(['swep']).ended
  t.equal(code, 2)
  t.match(stderr, /expected one of these verbs, got swep\n {2}npm run sweep/)
})

t.test('--help has an example and needs nothing', async (t) => {
  const { code, stdout } = await startLab(['sweep', '--help']).ended
  t.equal(code, 0)
  t.match(stdout, /--rates A,B,C[\s\S]*Examples:\n {2}npm run sweep/)
})

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGKILL'])) {
  t.test(`${signal} in mid-sweep leaves no process and a readable file, and --resume completes it`, async (t) => {
    const temporary = temporaryFolder(t)
    const out = `${temporary}/run`
    const env = { DATABASE_URL: undefined, TMPDIR: temporary, ...PATIENT }
    const argv = ['sweep', ...SHORT, '--rates', '100,200,300', '--out', out]
    const lab = startLab(argv, env)
    await lab.stderrHas('trial 1:')
    await new Promise((resolve) => setTimeout(resolve, 500))
    const signalledAt_ms = performance.now()
    lab.child.kill(signal)
    if (signal === 'SIGINT') {
      // Written when all that was started has been stopped; the page is drawn after it.
      while (!readRun(out).interrupted) await new Promise((resolve) => setTimeout(resolve, 20))
      t.ok(performance.now() - signalledAt_ms < 3000, 'it cleans up in a moment')
    }
    const { code, stderr } = await lab.ended
    if (signal === 'SIGINT') {
      t.equal(code, 130)
      t.match(stderr, /interrupted; go on with: npm run sweep -- --resume/)
      t.match(readRun(out), { interrupted: true, capacity: { low_rps: 100 } })
      t.match(fs.readFileSync(`${out}/report.html`, 'utf8'), /The run was interrupted/, 'and shows what it has')
      t.strictSame(fs.readdirSync(temporary), ['run'], 'no temporary folder')
    }
    while (processesOf(temporary).length > 0) await new Promise((resolve) => setTimeout(resolve, 20))
    t.pass('no process is left')
    t.strictSame(
      readTrials(out).map(({ load }) => load.rate_rps),
      [100],
      'what was measured is there',
    )

    if (signal === 'SIGINT') {
      const wrong = await startLab(['sweep', '--rates', '1', '--resume', out], env).ended
      t.equal(wrong.code, 2)
      t.match(wrong.stderr, /--resume: expected the flags of the run in .* \(--duration 1s .*\) or none/)

      const changed = await startLab(['sweep', '--resume', out], { ...env, POOL_MAX: '7' }).ended
      t.equal(changed.code, 2)
      t.match(changed.stderr, /--resume: expected POOL_MAX=20, as the run began, got POOL_MAX=7/)
    }

    const kept = readRun(out)
    fs.writeFileSync(`${out}/run.json`, JSON.stringify({ ...kept, warnings: [...kept.warnings, 'found before'] }))
    const resumed = await startLab(['sweep', ...argv.slice(1, -2), '--resume', out], env).ended
    t.equal(resumed.code, 0, resumed.stderr)
    t.strictSame(
      readTrials(out).map(({ trial, load }) => [trial, load.rate_rps]),
      [
        [1, 100],
        [2, 200],
        [3, 300],
      ],
    )
    t.match(readRun(out), { interrupted: false, capacity: { low_rps: 300 } })
    t.equal(readRun(out).warnings.filter((/** @type {string} */ text) => text === 'found before').length, 1)
  })
}

t.test('a service that dies in mid-trial ends the run with its last words', async (t) => {
  const out = `${folder}/dies`
  const lab = startLab(['sweep', ...SHORT, '--rates', '100,100,100', '--out', out], { DATABASE_URL: databaseUrl })
  await lab.stderrHas('trial 1:')
  process.kill(readTrials(out)[0].target.pid, 'SIGKILL')
  const { code, stderr } = await lab.ended
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: the run broke off: the API ended by itself \(SIGKILL\)/)
  t.equal(readTrials(out).length, 1)
  t.match(readRun(out), { problem: /the run broke off/, interrupted: false })
  t.match(fs.readFileSync(`${out}/report.md`, 'utf8'), /No trustworthy answer: the run broke off/)
})
