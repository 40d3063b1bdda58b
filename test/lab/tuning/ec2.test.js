import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { SETTINGS } from '../../../api/settings.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { startPostgres } from '../../support/postgres-host.js'
import { without } from '../../support/skip.js'
import { ourProcesses, startBox } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'

const FOLDER = 'tuning/ec2'
const USER_DATA = `${FOLDER}/user-data.yaml`
const UNIT_FILE = '/etc/systemd/system/redline.service'

/** The Python that cloud-init itself runs by, which brings it YAML. */
const READ_YAML = ['/usr/bin/python3', '-c', 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)']

const withoutCloudInit = without('cloud-init', '--version') ?? without(...READ_YAML)
const withoutSystemd = withoutCloudInit ?? without('systemd-analyze', '--version')

/** @returns {any} */
function userData() {
  const [program, ...args] = READ_YAML
  return JSON.parse(spawnSync(program, args, { input: readFileSync(USER_DATA), encoding: 'utf8' }).stdout)
}

/** The unit is in the user-data alone. */
function unitText() {
  return userData().write_files.find((/** @type {any} */ file) => file.path === UNIT_FILE).content
}

/** @param {string[]} command @param {string} [input] */
function run(command, input) {
  const [program, ...args] = command
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', input })
  return { status, words: `${stdout}${stderr}` }
}

t.test('the user-data is what cloud-init takes', { skip: withoutCloudInit ?? false }, async (t) => {
  const { status, words } = run(['cloud-init', 'schema', '--config-file', USER_DATA])
  t.equal(status, 0, words)
  t.ok(readFileSync(USER_DATA).length < 16_384, 'EC2 takes no more')
  const wrong = path.join(t.testdir(), 'wrong.yaml')
  writeFileSync(wrong, readFileSync(USER_DATA, 'utf8').replace('packages:', 'packages: 5 #'))
  t.not(run(['cloud-init', 'schema', '--config-file', wrong]).status, 0, 'and what is not, is refused')
})

t.test('the unit is what systemd takes, and locked up', { skip: withoutSystemd ?? false }, async (t) => {
  const text = unitText()
  const file = path.join(t.testdir(), 'redline.service')
  // The program is looked for, and here it may lie elsewhere.
  writeFileSync(file, text.replace('/usr/bin/node', process.execPath))
  const verified = run(['systemd-analyze', 'verify', file])
  t.equal(verified.status, 0, verified.words)
  t.equal(verified.words, '', 'without a warning')
  // Of 100; an ordinary service has above 90.
  const secured = run(['systemd-analyze', 'security', '--offline=yes', '--no-pager', '--threshold=20', file])
  t.equal(secured.status, 0, String(secured.words.trim().split('\n').at(-1)))

  writeFileSync(file, text.replace('RestartSec=1', 'RestartSec=soon').replace('/usr/bin/node', '/nowhere/node'))
  t.match(run(['systemd-analyze', 'verify', file]).words, /soon.*nowhere/s, 'and what is wrong, is found')
})

t.test('the unit starts what npm start does, and knows the API', { skip: withoutCloudInit ?? false }, async (t) => {
  const settings = Object.fromEntries(
    [...unitText().matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  const { start } = JSON.parse(readFileSync('package.json', 'utf8')).scripts
  t.equal(settings.ExecStart, `/usr/bin/${start}`)
  t.ok(Number(settings.TimeoutStopSec) * 1000 > SETTINGS.SHUTDOWN_TIMEOUT_MS.default, 'a drain is not cut short')
  t.match(settings, { Restart: 'on-failure', CPUAffinity: '0', MemoryMax: '80%', NoNewPrivileges: 'yes' })
  // 2 is how the API ends over its configuration.
  const refused = spawnSync(process.execPath, ['api/server.js'], { env: { PATH: process.env.PATH, POOL_MAX: 'many' } })
  t.equal(String(refused.status), settings.RestartPreventExitStatus)
  const limits = userData().write_files.find((/** @type {any} */ file) => file.path.includes('limits.d')).content
  t.match(limits, `hard nofile ${settings.LimitNOFILE}`, 'the lab over ssh and the service have the same limit')
})

t.test('the scripts pass shellcheck', { skip: without('shellcheck', '--version') ?? false }, async (t) => {
  const scripts = ['up', 'measure', 'down', 'on-load', 'common.sh'].map((name) => `${FOLDER}/${name}`)
  const { status, words } = run(['shellcheck', '--external-sources', ...scripts])
  t.equal(status, 0, words)
  t.not(run(['shellcheck', '--shell=bash', '-'], 'rm -rf $folder').status, 0, 'and what is wrong, is found')
})

t.test('published prices are those of the publications', async (t) => {
  const { published: own, currency } = JSON.parse(readFileSync(`${FOLDER}/prices.json`, 'utf8'))
  const { instances, storage, sources } = own
  const published = (/** @type {string} */ name) => {
    return JSON.parse(readFileSync(`tuning/published/${name}.json`, 'utf8'))
  }
  const { cost, ...ramp } = published('ramp')
  const { setting, ...article } = published('article')
  for (const { machine, per_hour } of [cost.a, cost.b, cost.twice_b]) t.equal(instances[machine].per_hour, per_hour)
  t.equal(storage.gp2.per_gb_month, cost.per_gb_month)
  t.equal(currency, cost.currency)
  t.match(setting, 't2.micro')
  t.equal(instances['t2.micro'].per_hour, null, 'which names no price')
  for (const [name, source] of Object.entries({ ramp, article })) {
    t.match(sources[name], { title: source.title, author: source.author, unchecked: /./ })
    t.equal(sources[name].date, source.date ?? null)
  }
  for (const { source } of Object.values({ ...instances, ...storage })) t.ok(source in sources)
})

/** The commands of the runbook, a block each; those in a list are indented. */
const BLOCKS = [...readFileSync(`${FOLDER}/RUNBOOK.md`, 'utf8').matchAll(/^( *)```sh\n(.*?)^\1```/gms)].map(
  ([, indent, text]) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
)

t.test('the runbook is made of commands that a shell can read, and of verbs and flags that are there', async (t) => {
  t.ok(BLOCKS.length >= 7)
  for (const block of BLOCKS) {
    const { status, words } = run(['bash', '-n'], block)
    t.equal(status, 0, words || block.split('\n')[0])
  }
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const lines = BLOCKS.join('\n')
  const ofNpm = [...lines.matchAll(/npm run (\w+) -- (.*)/g)].map(([line, verb, rest]) => {
    return { line, program: scripts[verb].split(' '), rest }
  })
  const ofEc2 = [...lines.matchAll(/(tuning\/ec2\/\w+)(.*)/g)].map(([line, program, rest]) => {
    return { line, program: [program], rest }
  })
  t.ok(ofNpm.length >= 1)
  t.ok(ofEc2.length >= 5)
  for (const { line, program, rest } of [...ofNpm, ...ofEc2]) {
    const { words } = run([...program, '--help'])
    for (const [flag] of rest.matchAll(/--[a-z-]+/g)) t.ok(words.includes(`${flag} `), `${flag} of ${line}`)
  }
})

t.test(
  'a run on the load box outlives the shell that started it, and ends in the first table',
  { skip: withoutHosts() ?? withoutSshd() ?? false },
  async (t) => {
    const { box, database, load } = await openHosts(t, ['box', 'database', 'load'])
    const { user, configFile } = await startBox(box)
    const { url, caFile } = await startPostgres(database)

    // What `measure` leaves on the load machine, where nobody gives flags for ssh.
    const home = path.join(load.folder, 'root')
    for (const folder of ['.ssh', '.redline-run']) mkdirSync(path.join(home, folder), { mode: 0o700 })
    copyFileSync(configFile, path.join(home, '.ssh/config'))
    const clone = `git bundle create ${home}/redline.bundle HEAD && git clone -q ${home}/redline.bundle ${home}/redline`
    t.equal(run(['bash', '-c', clone]).status, 0)
    symlinkSync(path.join(load.checkout, 'node_modules'), path.join(home, 'redline/node_modules'))
    copyFileSync(caFile, path.join(home, '.redline-run/rds-ca.pem'))
    const address = url.replace(/sslrootcert=.*/, 'sslrootcert=$HOME/.redline-run/rds-ca.pem')
    writeFileSync(path.join(home, '.redline-run/lab.env'), `BOX=${user}\nDATABASE_URL="${address}"\n`)

    const on = async (/** @type {string} */ words) => {
      const child = load.spawn(['bash', '-c', `exec ~/redline/tuning/ec2/on-load ${words}`])
      const output = [child.stdout, child.stderr].map((stream) => stream?.setEncoding('utf8').toArray())
      return (await Promise.all(output)).map((chunks) => String(chunks?.join(''))).join('')
    }
    const start = `start npm run sweep -- --ssh ${user} --rates 500,1000 --duration 2s`
    t.equal(await on(start), '', 'which returns at once')
    t.match(await on(start), 'a run is under way already')
    const said = await on('follow')
    t.match(said, /^\| +1 \| +500\/s +\|.*\n\| +2 \| +1,000\/s +\|/m)
    t.match(said, 'of 1000 stored')
    t.strictSame(ourProcesses(box), [], 'and nothing of it runs on the box any more')
  },
)
