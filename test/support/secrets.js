import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { runHere } from './in-process.js'
import { isOurs, processesOf, readRun, readTrials, startLab, temporaryFolder } from './lab.js'
import { httpServer } from './servers.js'
import { withoutDriver } from './skip.js'

const SHORT = ['--duration', '200ms', '--warmup', '50ms', '--slo-p99', '9s', '--connections', '4']
/** The program that sends the load. */
const GENERATOR = 'generators/generator.js'
const withoutProc = fs.existsSync('/proc/self/environ') ? undefined : 'this system has no /proc'

/**
 * A sweep whose URL, headers and body are secrets.
 * @param {any} t the file's
 * @param {string} driver
 * @param {string[]} load its flags
 * @param {{ asProgram?: boolean }} [options]
 */
export function sendsSecrets(t, driver, load, { asProgram = false } = {}) {
  t.test(
    `${driver} sends secrets that no file, message or process list shows`,
    {
      skip: withoutProc ?? withoutDriver(driver) ?? false,
    },
    async (/** @type {any} */ t) => {
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
      /** @type {string[]} */
      let generators = []
      let lab = process.pid
      const run = async (
        /** @type {any} */ t,
        /** @type {string[]} */ argv,
        /** @type {Record<string, string>} */ env,
      ) => {
        if (!asProgram) return withEnvironment(t, env, () => runHere(argv))
        const { child, ended } = startLab(argv, env)
        lab = Number(child.pid)
        return ended
      }
      const url = await httpServer(t, async (req, res) => {
        if (shown === null) {
          generators = processesOf(GENERATOR).filter(isOurs)
          shown = [...processesShowing(marker, lab), ...readableFilesWith(marker, temporary)]
        }
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
      t.ok(generators.length > 0, 'there is a process that could show one')
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

/**
 * Changes this process's environment, as a program would find it.
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
