import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

const FOLDER = 'tuning/ec2'
const SCRIPTS = ['up', 'measure', 'down']

/** Without the aws command line, and without an account. @param {string[]} words @param {string} home */
function run([script, ...args], home) {
  const env = { PATH: '/usr/bin:/bin', HOME: home, AWS_CONFIG_FILE: '/dev/null' }
  const { status, stdout, stderr } = spawnSync(`${FOLDER}/${script}`, args, { env, encoding: 'utf8', input: '' })
  return { status, stdout, stderr }
}

t.test('each script for EC2 has a help with an example, and refuses what it does not know in one line', async (t) => {
  const home = t.testdir()
  for (const script of SCRIPTS) {
    const { status, stdout } = run([script, '--help'], home)
    t.equal(status, 0)
    t.match(stdout, new RegExp(`^tuning/ec2/${script} .*Example:\\n  tuning/ec2/${script} `, 's'))
  }
  for (const [words, said] of /** @type {[string[], RegExp][]} */ ([
    [['up', '--colour'], /^expected a flag of this command, got --colour \(see --help\)\n$/],
    [['up', '--zone'], /^--zone: expected a value, got none/],
    [['up', '--credits', 'many'], /^--credits: expected unlimited or standard, got many/],
    [['up', '--name', 'My_Lab'], /^--name: expected .*, got My_Lab/],
    [['down', '--name', 'a--b'], /^--name: expected .*, got a--b/],
    [['down', '--name'], /^--name: expected a value, got none/],
    [['measure'], /^expected sweep, tune, article, attach, stop or fetch, got ''/],
    [['measure', 'all'], /^expected sweep, .*, got 'all'/],
    [['measure', 'stop', '--name', 'big'], /^expected nothing after stop, got --name: flags come before it/],
    [['measure', 'article', '--out', 'd'], /^expected --out before article, got it after/],
    [['measure', '--dry-run', 'sweep'], /^expected a flag of this command, got --dry-run/],
  ])) {
    const { status, stderr } = run(words, home)
    t.equal(status, 2, words.join(' '))
    t.match(stderr, said)
    t.match(stderr, /^[^\n]*\n$/)
  }
})

t.test('up --dry-run needs no account and no aws: it says the cost and each command, and keeps nothing', async (t) => {
  const home = t.testdir()
  const { status, stdout, stderr } = run(['up', '--dry-run', '--name', 'x', '--api-type', 'z9.huge'], home)
  t.equal(status, 0, stderr)
  t.match(
    stderr,
    /z9\.huge +unknown\n.*public-ipv4 +0\.0100 USD\/h \(2\).*together +0\.2029 USD\/h, and what is unknown/s,
  )
  const commands = stdout.trim().split('\n')
  t.ok(commands.length >= 10)
  t.strictSame(
    commands.filter((line) => !/^aws (ec2|rds|ssm) [a-z-]+/.test(line)),
    [],
  )
  t.match(stdout, /create-db-instance .*--master-user-password file:\/\/\S+\/x\/password /)
  t.notMatch(stdout, 'credit-specification', 'which is for T types')
  t.strictSame(readdirSync(home), [])
})

/** What bash 3.2 and BSD tools do not know. */
const NOT_ON_A_MAC = [
  ...[/\bdate -d\b/, /\bsed -i\b/, /\bsed -r\b/, /\bgrep -P\b/, /\breadlink -f\b/, /\bmapfile\b/, /\breadarray\b/],
  ...[/declare -[Ag]/, /local -n/, /\$\{\w+(,,|\^\^|@)/, /\|&/, /&>>/, /\bcoproc\b/, /\[\[ -v /, /\bseq\b/, /\btac\b/],
]

t.test('what runs on a Mac needs nothing that a Mac does not have', async (t) => {
  const page = [...readFileSync(`${FOLDER}/RUNBOOK.md`, 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text)
  const texts = [...SCRIPTS, 'common.sh'].map((name) => readFileSync(`${FOLDER}/${name}`, 'utf8')).concat(page)
  t.ok(texts.length > 8)
  const found = texts.flatMap((text) => NOT_ON_A_MAC.flatMap((pattern) => pattern.exec(text)?.[0] ?? []))
  t.strictSame(found, [])
  t.match('sed -i x', NOT_ON_A_MAC[1])
})
