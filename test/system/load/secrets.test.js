import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readMetrics } from '../../../load/probes/metrics.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { readRun, temporaryFolder } from '../../support/lab.js'
import { sendsSecrets } from '../../support/secrets.js'
import { httpServer } from '../../support/servers.js'

const lab = { runTrial: trialHere }

// One of them as a program; each in a generator's process, which could show what it is given.
sendsSecrets(t, 'paced', ['--rates', '40'], { asProgram: true })
for (const driver of ['client', 'autocannon']) sendsSecrets(t, driver, ['--driver', driver])

t.test('no problem with the metrics page shows a secret of its URL', async (t) => {
  const marker = `secret${randomBytes(8).toString('hex')}`
  process.env.REDLINE_TEST_TOKEN = marker
  t.teardown(() => delete process.env.REDLINE_TEST_TOKEN)
  const token = `{{env REDLINE_TEST_TOKEN}}`
  const url = await httpServer(t, async (req, res) => {
    await req.toArray()
    if (req.url === '/user') res.writeHead(201, { 'Content-Length': 0 }).end()
    else if (req.url?.startsWith('/redirect'))
      res.writeHead(302, { Location: `http://u:p@${req.headers.host}${req.url}` }).end()
    else res.writeHead(403).end(req.url)
  })
  const { origin } = new URL(url)
  const pages = {
    'in the query': `${origin}/metrics?key=${token}`,
    'in the path': `${origin}/${token}/metrics`,
    'in a redirect': `${origin}/redirect/${token}`,
    'in the host': `http://${token}.invalid/metrics`,
  }
  for (const [name, page] of Object.entries(pages)) {
    const problem = await readMetrics(page.replace(token, marker), ['up'], 5000).catch((error) => error)
    t.type(problem, Error, name)
    t.notMatch(problem.message, marker, name)
  }
  const out = path.join(temporaryFolder(t), 'out')
  const flags = ['--rates', '40', '--duration', '100ms', '--warmup', '50ms', '--slo-p99', '9s', '--out', out]
  const argv = ['sweep', ...flags, '--url', url, '--metrics-url', pages['in a redirect']]
  const { code, stdout, stderr } = await runHere(argv, { lab })
  t.equal(code, 0, stderr)
  t.match(readRun(out).warnings.join(), /metrics page could not be read/)
  const texts = fs.readdirSync(out).map((file) => fs.readFileSync(path.join(out, file), 'utf8'))
  // The pages are made of what stands in these.
  t.ok(texts.length >= 2)
  t.notOk([stdout, stderr, ...texts].some((text) => text.includes(marker)))
})

t.test('--resume needs a secret again only if the command line itself held it', async (t) => {
  const folder = temporaryFolder(t)
  fs.writeFileSync(path.join(folder, 'token'), 'hunter2', { mode: 0o600 })
  /** @type {Set<string | undefined>} */
  const seen = new Set()
  const url = await httpServer(t, (req, res) => {
    seen.add(req.headers['x-token']?.toString()).add(req.headers.apikey?.toString())
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const flags = ['--url', url, '--duration', '100ms', '--warmup', '50ms', '--slo-p99', '9s', '--rates', '20,30']
  const run = async (/** @type {string} */ name, /** @type {string[]} */ secret) => {
    const out = path.join(folder, name)
    const { code, stderr } = await runHere(['sweep', ...flags, ...secret, '--out', out], { lab })
    t.equal(code, 0, stderr)
    const trials = fs.readFileSync(path.join(out, 'trials.ndjson'), 'utf8').split('\n')
    fs.writeFileSync(path.join(out, 'trials.ndjson'), `${trials[0]}\n`)
    seen.clear()
    return out
  }
  const referred = await run('referred', ['--header', `X-Token: {{file ${folder}/token}}`])
  t.match(await runHere(['sweep', '--resume', referred], { lab }), { code: 0 })
  t.strictSame([...seen], ['hunter2', undefined])
  fs.rmSync(path.join(folder, 'token'))
  t.match(await runHere(['sweep', '--resume', referred], { lab }), {
    code: 2,
    stderr: /expected a readable file, got ENOENT/,
  })

  const literal = await run('literal', ['--header', 'apikey: hunter2'])
  t.match(await runHere(['sweep', '--resume', literal], { lab }), { code: 2, stderr: /expected the flags .* again/ })
  t.match(await runHere(['sweep', ...flags, '--header', 'apikey: hunter2', '--resume', literal], { lab }), { code: 0 })
  t.strictSame([...seen], [undefined, 'hunter2'])
})
