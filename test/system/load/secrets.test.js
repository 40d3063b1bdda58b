import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { httpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

const SHORT = ['--duration', '600ms', '--warmup', '200ms', '--slo-p99', '5s', '--connections', '4']
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
      const url = await httpServer(t, async (req, res) => {
        shown ??= [...processesShowing(marker, [lab.child.pid]), ...readableFilesWith(marker, temporary)]
        const { authorization, apikey } = req.headers
        seen.add([req.url, authorization, apikey, (await req.toArray()).join('')].join(' '))
        res.writeHead(201, { 'Content-Length': 0 }).end()
      })
      const lab = startLab(
        [
          ...['sweep', ...SHORT, ...load, '--out', out],
          ...['--url', `${url}?a=${marker}-query&token={{file ${folder}/token}}`],
          ...['--header', 'Authorization: Bearer {{env REDLINE_TEST_TOKEN}}', '--header', `apikey: ${marker}-literal`],
          ...['--body', path.join(folder, 'body')],
        ],
        { REDLINE_TEST_TOKEN: `${marker}-env`, TMPDIR: temporary },
      )
      const { code, stdout, stderr } = await lab.ended
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
    const out = path.join(temporaryFolder(t), 'out')
    const flags = ['--rates', '40', '--duration', '300ms', '--warmup', '100ms', '--slo-p99', '5s', '--out', out]
    const { ended } = startLab(['sweep', ...flags, '--url', url, '--metrics-url', page], { REDLINE_TEST_TOKEN: marker })
    const { code, stdout, stderr } = await ended
    t.equal(code, 0, stderr)
    t.match(readRun(out).warnings.join(), /metrics page could not be read/, name)
    const texts = fs.readdirSync(out).map((file) => fs.readFileSync(path.join(out, file), 'utf8'))
    t.notOk(
      [stdout, stderr, ...texts].some((text) => text.includes(marker)),
      name,
    )
  }
})

/** Processes other than these whose command line or environment holds a text. @param {string} text @param {(number | undefined)[]} but */
function processesShowing(text, but) {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && !but.includes(Number(name)))
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
    return fs.statSync(file).isFile() && (fs.statSync(file).mode & 0o077) !== 0 && textOf(file).includes(text)
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
