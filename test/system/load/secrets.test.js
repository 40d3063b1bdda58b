import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readMetrics } from '../../../load/probes/metrics.js'
import { writePages } from '../../../load/report/write.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { httpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

const SHORT = ['--duration', '600ms', '--warmup', '100ms', '--slo-p99', '9s', '--connections', '4']
const withoutProc = fs.existsSync('/proc/self/environ') ? undefined : 'this system has no /proc'

/** @type {Record<string, string[]>} */
const DRIVERS = {
  ...{ paced: ['--rates', '40'], vegeta: ['--driver', 'vegeta', '--rates', '40'] },
  ...Object.fromEntries(['client', 'autocannon', 'wrk', 'locust'].map((name) => [name, ['--driver', name]])),
}

for (const [driver, load] of Object.entries(DRIVERS)) {
  t.test(
    `${driver} sends secrets that no file, message or process list shows`,
    {
      skip: withoutProc ?? withoutDriver(driver) ?? false,
    },
    async (t) => {
      const marker = `secret${randomBytes(8).toString('hex')}`
      const folder = temporaryFolder(t)
      const out = path.join(folder, 'out')
      const temporary = path.join(folder, 'tmp')
      fs.mkdirSync(temporary)
      fs.writeFileSync(path.join(folder, 'token'), `${marker}/file+&\n`, { mode: 0o600 })
      fs.writeFileSync(path.join(folder, 'body'), `{"password":"${marker}-body"}`)
      /** @type {Set<string>} */
      const seen = new Set()
      /** @type {string[] | null} */
      let shown = null
      let lab = process.pid
      const run = async (
        /** @type {any} */ t,
        /** @type {string[]} */ argv,
        /** @type {Record<string, string>} */ env,
      ) => {
        // One of them as a program; how the others get their secrets does not depend on the lab's own process.
        if (driver !== 'paced') return withEnvironment(t, env, () => runHere(argv))
        const { child, ended } = startLab(argv, env)
        lab = Number(child.pid)
        return ended
      }
      const url = await httpServer(t, async (req, res) => {
        shown ??= [...processesShowing(marker, lab), ...readableFilesWith(marker, temporary)]
        const { authorization, apikey } = req.headers
        seen.add([req.url, authorization, apikey, (await req.toArray()).join('')].join(' '))
        res.writeHead(201, { 'Content-Length': 0 }).end()
      })
      const variable = `REDLINE_TEST_${driver}`
      const argv = [
        ...['sweep', ...SHORT, ...load, '--out', out],
        ...['--url', `${url}?a=${marker}-query&token={{file ${folder}/token}}`],
        ...['--header', `Authorization: Bearer {{env ${variable}}}`, '--header', `apikey: ${marker}-literal`],
        ...['--body', path.join(folder, 'body')],
      ]
      const { code, stdout, stderr } = await run(t, argv, { [variable]: `${marker}-env`, TMPDIR: temporary })
      t.equal(code, 0, stderr)
      const query = `a=${marker}-query&token=${encodeURIComponent(`${marker}/file+&`)}`
      const body = `{"password":"${marker}-body"}`
      t.strictSame([...seen], [`/user?${query} Bearer ${marker}-env ${marker}-literal ${body}`], 'all of them are sent')
      t.strictSame(shown, [], 'no other process and no readable file shows one while the load is on')
      t.notMatch(stdout + stderr, marker, 'nor does what is printed')
      for (const file of fs.readdirSync(out)) {
        const text = fs.readFileSync(path.join(out, file), 'utf8')
        t.notOk(text.includes(marker) || text.includes(Buffer.from(body).toString('base64')), `nor does ${file}`)
      }
      const kept = `${url}?a=(withheld)&token={{file ${folder}/token}}`
      t.equal(readTrials(out)[0].target.url, kept, 'the names of the query are kept, and where its secret is')
      t.match(readRun(out).plan, {
        url: kept,
        mix: { source: { file: path.join(folder, 'body'), bytes: body.length, modified_at: String } },
      })
    },
  )
}

t.test('no problem with the metrics page shows a secret of its URL', async (t) => {
  const marker = `secret${randomBytes(8).toString('hex')}`
  process.env.REDLINE_TEST_TOKEN = marker
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
  const { code, stdout, stderr } = await runHere(argv, { lab: { writePages } })
  t.equal(code, 0, stderr)
  t.match(readRun(out).warnings.join(), /metrics page could not be read/)
  const texts = fs.readdirSync(out).map((file) => fs.readFileSync(path.join(out, file), 'utf8'))
  t.ok(texts.length > 4)
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
  const flags = ['--url', url, '--duration', '200ms', '--warmup', '50ms', '--slo-p99', '9s', '--rates', '20,30']
  const run = async (/** @type {string} */ name, /** @type {string[]} */ secret) => {
    const out = path.join(folder, name)
    const { code, stderr } = await runHere(['sweep', ...flags, ...secret, '--out', out])
    t.equal(code, 0, stderr)
    const trials = fs.readFileSync(path.join(out, 'trials.ndjson'), 'utf8').split('\n')
    fs.writeFileSync(path.join(out, 'trials.ndjson'), `${trials[0]}\n`)
    seen.clear()
    return out
  }
  const referred = await run('referred', ['--header', `X-Token: {{file ${folder}/token}}`])
  t.match(await runHere(['sweep', '--resume', referred]), { code: 0 })
  t.strictSame([...seen], ['hunter2', undefined])
  fs.rmSync(path.join(folder, 'token'))
  t.match(await runHere(['sweep', '--resume', referred]), {
    code: 2,
    stderr: /expected a readable file, got ENOENT/,
  })

  const literal = await run('literal', ['--header', 'apikey: hunter2'])
  t.match(await runHere(['sweep', '--resume', literal]), { code: 2, stderr: /expected the flags .* again/ })
  t.match(await runHere(['sweep', ...flags, '--header', 'apikey: hunter2', '--resume', literal]), { code: 0 })
  t.strictSame([...seen], [undefined, 'hunter2'])
})

/**
 * Changes this process's environment, as a program would find it.
 *
 * @template T
 * @param {any} t
 * @param {Record<string, string>} variables
 * @param {() => Promise<T>} work
 */
async function withEnvironment(t, variables, work) {
  const before = { ...process.env }
  t.teardown(() => {
    for (const name of Object.keys(variables)) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  })
  Object.assign(process.env, variables)
  return work()
}

/** Processes but this one whose command line or environment holds a text. @param {string} text @param {number} but */
function processesShowing(text, but) {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== but)
  return pids.flatMap((pid) => {
    return ['cmdline', 'environ'].flatMap((file) => {
      const shown = textOf(`/proc/${pid}/${file}`)
      return shown.includes(text) ? [`${pid}/${file}: ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`] : []
    })
  })
}

/** Files that hold a text, and that others than their owner may read. @param {string} text @param {string} folder */
function readableFilesWith(text, folder) {
  return fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const file = path.join(folder, name)
    const found = fs.statSync(file, { throwIfNoEntry: false })
    return found?.isFile() && (found.mode & 0o077) !== 0 && textOf(file).includes(text)
  })
}

/** @param {string} file */
function textOf(file) {
  try {
    return fs.readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
