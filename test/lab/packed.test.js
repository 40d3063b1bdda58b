import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { readRun, temporaryFolder } from '../support/lab.js'
import { httpServer } from '../support/servers.js'

const run = promisify(execFile)

/** Without the tests' own flags of Node, which are about this checkout. */
const ENV = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: '' }
const SHORT = ['--rates', '50', '--duration', '1s', '--warmup', '100ms', '--slo-p99', '9s']
/** Of the packages, without Postgres; with it, less than 120. */
const MOST_MB = 50
const VERBS = ['sweep', 'tune', 'compare', 'workshop', 'doctor', 'setup', 'report']

/** Packs a copy of the checkout, as packing writes a file into it for a moment. @param {string} folder @returns {Promise<string>} the package */
async function pack(folder) {
  const copy = path.join(folder, 'copy')
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  for (const file of stdout.split('\0').filter((name) => fs.existsSync(name) && fs.statSync(name).isFile()))
    fs.cpSync(file, path.join(copy, file))
  fs.symlinkSync(path.resolve('node_modules'), path.join(copy, 'node_modules'))
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy, env: ENV })
  return path.join(folder, packed.stdout.trim())
}

/** @param {string} folder @returns {number} */
function megabytesOf(folder) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + fs.statSync(path.join(parentPath, name)).size, 0) / 1e6
}

t.test('a packed Redline runs in an empty folder', async (t) => {
  const folder = temporaryFolder(t)
  const empty = path.join(folder, 'empty')
  fs.mkdirSync(empty)
  const tarball = await pack(folder)
  await run('npm', ['install', '--no-audit', '--no-fund', '--silent', tarball], { cwd: empty, env: ENV })
  const own = path.join(empty, 'node_modules/redline')
  t.notOk(fs.existsSync(path.join(own, 'test')) || fs.existsSync(path.join(own, 'tuning/evidence')), 'only what runs')
  const size_MB = megabytesOf(path.join(empty, 'node_modules'))
  t.ok(size_MB < MOST_MB, `${Math.round(size_MB)} MB`)

  const env = { ...ENV, XDG_CACHE_HOME: path.join(folder, 'cache') }
  const redline = (/** @type {string[]} */ ...argv) =>
    run(path.join(empty, 'node_modules/.bin/redline'), argv, { cwd: empty, env })
  for (const verb of VERBS) t.match((await redline(verb, '--help')).stdout, `redline ${verb}`)

  /** @type {(string | undefined)[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    seen.push(req.method)
    res.writeHead(200, { 'Content-Length': 0 }).end()
  })
  await redline(url, ...SHORT, '--out', 'url')
  t.strictSame([...new Set(seen)], ['GET'])
  t.match(fs.readFileSync(`${empty}/url/report.html`, 'utf8'), '<svg', 'the pictures are drawn')

  const first = await redline('sweep', ...SHORT, '--out', 'local')
  t.match(first.stderr, 'fetching Postgres')
  t.equal(readRun(`${empty}/local`).problem, null)
  const again = await redline('setup', '--json')
  t.notMatch(again.stderr, 'fetching Postgres', 'once')
  t.ok(JSON.parse(again.stdout).postgres.startsWith(env.XDG_CACHE_HOME))
  const with_MB = size_MB + megabytesOf(path.join(env.XDG_CACHE_HOME, 'redline'))
  t.ok(with_MB > 50 && with_MB < 120, `${Math.round(with_MB)} MB with Postgres`)
})

t.test('the pages name the package so that npx runs it', async (t) => {
  const folder = temporaryFolder(t)
  const elsewhere = path.join(folder, 'elsewhere')
  fs.mkdirSync(elsewhere)
  const tarball = await pack(folder)
  const text = ['README.md', 'load/README.md', 'tuning/README.md']
    .map((page) => fs.readFileSync(page, 'utf8'))
    .join('\n')
  const names = [...new Set([...text.matchAll(/npx --yes (\S*\.tgz)/g)].map(([, name]) => name))]
  t.ok(names.length >= 2, `${names}`)
  for (const name of names) {
    const given = name.replace('/path/to', folder)
    const args = ['--yes', '--cache', path.join(folder, 'npm-cache'), given, '--help']
    // From its own folder, or from any other.
    const cwd = name.startsWith('./') ? folder : elsewhere
    const { stdout } = await run('npx', args, { cwd, env: ENV }).catch((error) => error)
    t.equal(path.basename(name), path.basename(tarball))
    t.match(stdout, `npx --yes ${given} sweep`, 'and it says how to call it again')
  }
})
