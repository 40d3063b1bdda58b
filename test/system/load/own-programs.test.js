import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import t from 'tap'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { binary, VERSION } from '../../../load/generators/drivers/vegeta/program.js'
import { prepareHosts } from '../../../load/generators/hosts/prepare.js'
import { nodeOf } from '../../../load/system/node-versions.js'
import { caught } from '../../support/caught.js'
import { temporaryFolder } from '../../support/lab.js'
import { withoutDriver, withoutRoot } from '../../support/skip.js'

/** @import { AddressInfo } from 'node:net' */

const SYSTEM = `${process.platform}-${process.arch}`
const NAME = `node-${SYSTEM}`
const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'

/** A vegeta of some version that leaves a mark when it is run. @param {string} folder @param {string} [version] */
function vegetaIn(folder, version = VERSION) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o755 })
  const file = path.join(folder, 'vegeta')
  fs.writeFileSync(file, `#!/bin/sh\ntouch ${file}.ran\necho "Version: ${version}"\n`, { mode: 0o755 })
  return file
}

/** Changes this process's environment until the test ends. @param {any} t @param {Record<string, string>} variables */
function withEnvironment(t, variables) {
  const before = Object.keys(variables).map((name) => [name, process.env[name]])
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[/** @type {string} */ (name)]
      else process.env[/** @type {string} */ (name)] = value
    }
  })
}

t.test('a vegeta that somebody else could have put there is not run', async (t) => {
  const folder = temporaryFolder(t)
  const file = vegetaIn(`${folder}/bin`)
  t.equal(binary(file), file)
  fs.rmSync(`${file}.ran`)
  const foreign = (/** @type {string} */ about) => {
    const error = caught(() => binary(file))
    t.type(error, UsageError, about)
    t.match(error.message, /^--driver: expected a vegeta that you or root own .*: remove it and run `npm run vegeta`$/)
    t.notOk(fs.existsSync(`${file}.ran`), 'not even to ask its version')
  }
  for (const [name, mode] of /** @type {[string, number][]} */ ([
    [file, 0o757],
    [file, 0o775],
    [path.dirname(file), 0o777],
  ])) {
    fs.chmodSync(name, mode)
    foreign(`${path.basename(name)} of mode ${mode.toString(8)}`)
    fs.chmodSync(name, 0o755)
  }
  fs.renameSync(file, `${folder}/elsewhere`)
  fs.symlinkSync(`${folder}/elsewhere`, file)
  foreign('a link into a folder that all may write to')
})

t.test('nor is one that belongs to another user', { skip: withoutRoot() ?? false }, async (t) => {
  const file = vegetaIn(`${temporaryFolder(t)}/bin`)
  fs.chownSync(file, 12345, 12345)
  t.match(
    caught(() => binary(file)),
    { message: /got .*bin\/vegeta of uid 12345, mode 755: remove it/ },
  )
  t.notOk(fs.existsSync(`${file}.ran`))
})

t.test('a vegeta of another version is refused, built or on PATH', async (t) => {
  const folder = temporaryFolder(t)
  const message = new RegExp(
    `^--driver: expected vegeta ${VERSION}, got v12.8.4 \\(.*vegeta\\): .npm run vegeta. builds it`,
  )
  t.match(
    caught(() => binary(vegetaIn(`${folder}/built`, 'v12.8.4'))),
    { message },
  )
  withEnvironment(t, { PATH: `${folder}/path:${process.env.PATH}` })
  vegetaIn(`${folder}/path`, 'v12.8.4')
  t.match(
    caught(() => binary(`${folder}/none`)),
    { message },
  )
  t.equal(binary(vegetaIn(`${folder}/built`)), `${folder}/built/vegeta`)
  vegetaIn(`${folder}/path`)
  t.equal(binary(`${folder}/none`), `${folder}/path/vegeta`)
})

t.test(
  'on a load host, vegeta is kept and run where nobody else may write',
  { skip: withoutDriver('vegeta') ?? false },
  async (t) => {
    const folder = temporaryFolder(t)
    const cache = path.join(folder, '.cache', 'redline')
    // Runs the command here, with a home and a PATH of its own.
    const ssh = `#!/bin/sh\nfor last; do :; done\nHOME=${folder} PATH=/usr/bin:/bin exec sh -c "$last"\n`
    fs.mkdirSync(`${folder}/bin`)
    fs.writeFileSync(`${folder}/bin/ssh`, ssh, { mode: 0o755 })
    withEnvironment(t, { PATH: `${folder}/bin:${process.env.PATH}`, XDG_CACHE_HOME: '' })
    const ready = () => {
      const signal = new AbortController().signal
      return prepareHosts({ driver: 'vegeta', hosts: ['there'], config: null, signal, note: () => {} })
    }
    const [{ program }] = await ready()
    t.equal(path.dirname(program), cache)
    t.equal(fs.statSync(cache).mode & 0o777, 0o700)
    const copied_ms = fs.statSync(program).mtimeMs
    t.equal((await ready())[0].program, program)
    t.equal(fs.statSync(program).mtimeMs, copied_ms, 'it is not copied again')

    fs.chmodSync(program, 0o777)
    fs.writeFileSync(program, `#!/bin/sh\ntouch ${folder}/ran\n`)
    t.equal((await ready())[0].program, program)
    t.notOk(fs.existsSync(`${folder}/ran`), 'a program that others could write to is not run but copied anew')
    t.equal(fs.statSync(program).mode & 0o777, 0o755)

    fs.chmodSync(cache, 0o777)
    await t.rejects(ready(), {
      message:
        /^--load-hosts there: expected .* there to belong to the user that ssh logs in as, .*redline: chmod go-w it/,
    })
  },
)

/** A registry with one package, whose install script leaves a mark and whose program says a version. @param {any} t */
async function registry(t) {
  const folder = t.testdir({
    package: {
      'package.json': JSON.stringify({
        ...{ name: NAME, version: '99.1.2', bin: { node: 'bin/node' } },
        scripts: { install: `touch ${path.resolve(t.testdirName)}/script-ran` },
      }),
      bin: { node: '#!/bin/sh\necho v99.1.2\n' },
    },
  })
  fs.chmodSync(`${folder}/package/bin/node`, 0o755)
  execFileSync('tar', ['czf', `${folder}/package.tgz`, '-C', folder, 'package'])
  const tarball = fs.readFileSync(`${folder}/package.tgz`)
  const hash = createHash('sha512').update(tarball).digest('base64')
  const server = http.createServer((req, res) => {
    if (req.url?.endsWith('.tgz')) return void res.end(tarball)
    const dist = { tarball: `http://${req.headers.host}/package.tgz`, integrity: `sha512-${hash}` }
    const versions = {
      '99.1.2': { name: NAME, version: '99.1.2', bin: { node: 'bin/node' }, hasInstallScript: true, dist },
    }
    res.end(JSON.stringify({ name: NAME, 'dist-tags': { latest: '99.1.2' }, versions }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  t.teardown(() => server.closeAllConnections())
  const { port } = /** @type {AddressInfo} */ (server.address())
  withEnvironment(t, { npm_config_registry: `http://127.0.0.1:${port}/`, npm_config_cache: `${folder}/npm` })
  const pins = { [`${SYSTEM}@99.1.2`]: hash }
  return { folder, pins }
}

/** An npm that installs this program and nothing else: npm takes 0.7 s of CPU. @param {any} t @param {string} program */
function npmWith(t, program) {
  const folder = temporaryFolder(t)
  const bin = `"$folder/node_modules/${NAME}/bin"`
  const script = `#!/bin/sh\nfor folder; do :; done\nmkdir -p ${bin} && cp ${program} ${bin}\n`
  fs.writeFileSync(`${folder}/npm`, script, { mode: 0o755 })
  return folder
}

t.test(
  'a Node is fetched in the version and with the hash that are pinned, and no script of its package runs',
  async (t) => {
    const { folder, pins } = await registry(t)
    const cache = `${folder}/cache`
    const program = await nodeOf('99', { cache, pins })
    t.equal(program, `${cache}/node-99.1.2/node_modules/${NAME}/bin/node`)
    t.equal(execFileSync(program, { encoding: 'utf8' }), 'v99.1.2\n')
    t.notOk(fs.existsSync(`${folder}/script-ran`))
    t.strictSame(fs.readdirSync(cache), ['node-99.1.2'])

    const { mtimeMs } = fs.statSync(program)
    t.equal(await nodeOf('99', { cache, pins }), program)
    t.equal(fs.statSync(program).mtimeMs, mtimeMs, 'it is kept')
    fs.chmodSync(program, 0o777)
    fs.writeFileSync(program, '#!/bin/sh\necho mine\n')
    const { PATH } = process.env
    process.env.PATH = `${npmWith(t, `${folder}/package/bin/node`)}:${PATH}`
    const again = await nodeOf('99', { cache, pins })
    process.env.PATH = PATH
    t.equal(execFileSync(again, { encoding: 'utf8' }), 'v99.1.2\n', 'while it is ours')

    const other = { [`${SYSTEM}@99.1.2`]: `${'A'.repeat(86)}==` }
    const refused = await nodeOf('99', { cache: `${folder}/none`, pins: other }).catch((error) => error)
    t.ok(refused instanceof NotApplied)
    t.match(refused.message, /could not be fetched from npm \(node-.*@99.1.2\): npm error .*EINTEGRITY/)
    t.strictSame(fs.readdirSync(`${folder}/none`), [], 'and nothing of it is left')
  },
)

t.test('a Node that is not pinned for this system is not fetched', async (t) => {
  const refused = await nodeOf('99').catch((error) => error)
  t.ok(refused instanceof NotApplied)
  t.match(refused.message, /^expected a Node for .* of major version 2[\d, ]+, got 99$/)
})

t.test(
  'a run that is killed while npm fetches a Node leaves neither npm nor half a Node',
  { skip: withoutProc },
  async (t) => {
    const folder = t.testdir({
      npm: `#!/bin/sh\nfor folder; do :; done\nmkdir -p "$folder/node_modules/${NAME}/bin"\necho half > "$folder/node_modules/${NAME}/bin/node"\necho $$ > "$SAYS.part" && mv "$SAYS.part" "$SAYS"\nexec sleep 60\n`,
    })
    fs.chmodSync(`${folder}/npm`, 0o755)
    const [says, cache] = [`${folder}/says`, `${folder}/cache`]
    const pins = { [`${SYSTEM}@99.1.2`]: '' }
    const options = { cache, pins }
    const program = `import { nodeOf } from './load/system/node-versions.js'; await nodeOf('99', ${JSON.stringify(options)})`
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, SAYS: says }
    const lab = spawn(process.execPath, ['--input-type=module', '--eval', program], { env, stdio: 'inherit' })
    await eventually(() => fs.existsSync(says))
    const npm = fs.readFileSync(says, 'utf8').trim()
    lab.kill('SIGKILL')
    await once(lab, 'exit')
    await eventually(() => !fs.existsSync(`/proc/${npm}`))

    // What a process that still runs is fetching is not ours to remove.
    const fetching = `node-99.1.2.${process.ppid}`
    fs.mkdirSync(`${cache}/${fetching}`)
    t.equal(fs.readdirSync(cache).length, 2)
    // With an npm that fails at once.
    fs.writeFileSync(`${folder}/npm`, '#!/bin/sh\necho "npm error no such version" >&2\nexit 1\n')
    withEnvironment(t, { PATH: env.PATH })
    const refused = await nodeOf('99', options).catch((error) => error)
    t.ok(refused instanceof NotApplied, 'nor is what was left taken for one')
    t.match(refused.message, /npm error no such version/)
    t.strictSame(fs.readdirSync(cache), [fetching], 'and what was left is removed')
  },
)

/** @param {() => boolean} holds */
async function eventually(holds) {
  for (const end_ms = Date.now() + 20_000; !holds(); ) {
    if (Date.now() > end_ms) throw new Error('expected it within 20 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
