import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { HOST_KEY, openRegion, startMoto, withoutMoto } from '../../support/simulated-aws.js'
import { firstMatch, until } from '../../support/until.js'

const skip = withoutMoto() ?? false
const START = ['--yes', '--from', '192.0.2.7/32', '--image', 'ami-12c6146b']

t.setTimeout(300_000)
const moto = skip ? {} : await startMoto(t)
t.jobs = 3

t.test(
  'up, up again, down: nothing twice, nothing left, nothing of others gone',
  { skip, buffered: true },
  async (t) => {
    const place = await openRegion(t, moto, 'eu-west-1')
    await place.aws('foreign')
    const before = await place.inventory()
    t.equal(before.length, 9, 'two machines with a volume each, two databases, a group, a key, an address')

    const first = await place.script('up', START)
    t.equal(first.code, 0, first.stderr)
    t.match(first.stderr, /t2\.micro +0\.0116 USD\/h.*together +0\.2145 USD\/h.*Next: tuning\/ec2\/measure/s)
    const made = await place.inventory()
    const ours = made.filter((one) => !before.includes(one))
    t.strictSame(
      ours.map((one) => one.replace(/(i|vol|sg)-\w+/, 'ID')),
      ['database redline-lab lab', 'group ID lab', 'key redline-lab lab'].concat([
        'machine ID lab',
        'machine ID lab',
        'volume ID lab',
        'volume ID lab',
      ]),
    )
    const rules = await place.aws(
      `ec2 describe-security-groups --filters Name=group-name,Values=redline-lab --output text --query "SecurityGroups[].IpPermissions[].[FromPort,IpRanges[0].CidrIp,UserIdGroupPairs[0].GroupId!=null]"`,
    )
    t.strictSame(
      rules.split('\n').sort(),
      ['22\t192.0.2.7/32\tTrue', '3000\tNone\tTrue', '5432\tNone\tTrue'],
      'open to one address by ssh, and among themselves',
    )
    const password = fs.readFileSync(path.join(place.env.REDLINE_EC2_STATE, 'lab/password'), 'utf8')
    t.match(password, /^[0-9a-f]{32}$/)
    t.notMatch(fs.readFileSync(place.env.AWS_LOG, 'utf8'), password, 'on no command line')

    const again = await place.script('up', START)
    t.equal(again.code, 0, again.stderr)
    t.strictSame(await place.inventory(), made)

    const larger = await place.script('up', [...START, '--api-type', 'c7i.large'])
    t.equal(larger.code, 1)
    t.match(larger.stderr, /expected --api-type t2\.micro, which is there already, got c7i\.large/)

    await place.aws('rds stop-db-instance --db-instance-identifier redline-lab')
    const apart = await place.script('up', [...START, '--zone', 'eu-west-1c'])
    t.equal(apart.code, 1)
    t.match(apart.stderr, /expected --zone eu-west-1a, where redline=lab is, got eu-west-1c/)
    const started = await place.script('up', START)
    t.equal(started.code, 0, started.stderr)
    const status = 'rds describe-db-instances --db-instance-identifier redline-lab --output text --query'
    t.equal(await place.aws(`${status} 'DBInstances[0].DBInstanceStatus'`), 'available', 'what was stopped runs again')

    const elsewhere = ['--region', 'eu-north-1']
    const other = await place.script('up', [...START, ...elsewhere])
    t.not(other.code, 0)
    t.match(other.stderr, /expected redline=lab to be in eu-north-1 .*made elsewhere \(\d+ eu-west-1\)/)
    const blind = await place.script('down', ['--yes', ...elsewhere])
    t.equal(blind.code, 0, blind.stderr)
    t.match(blind.stderr, /made elsewhere \(\d+ eu-west-1\): its keys stay/)
    t.ok(fs.existsSync(path.join(place.env.REDLINE_EC2_STATE, 'lab/key')))
    t.strictSame(await place.inventory(), made)

    // What somebody has tagged by hand goes, too.
    await place.aws(
      "ec2 allocate-address --tag-specifications 'ResourceType=elastic-ip,Tags=[{Key=redline,Value=lab}]'",
    )
    const looked = await place.script('down', ['--dry-run'])
    t.match(looked.stdout, /aws rds delete-db-instance .*--skip-final-snapshot.*aws ec2 release-address/s)
    t.match(
      looked.stdout,
      /terminate-instances.*delete-db-instance.*delete-security-group.*delete-key-pair/s,
      'first what costs most, and all of it is shown',
    )
    t.equal((await place.inventory()).length, made.length + 1, 'which changed nothing')
    const down = await place.script('down', ['--yes'])
    t.equal(down.code, 0, down.stderr)
    t.match(
      down.stderr,
      /Nothing tagged redline=lab is left.*Of other names, these still cost money.*i-\w+\tother.*foreign\tother/s,
    )
    t.strictSame(await place.inventory(), before)
    t.notOk(fs.existsSync(path.join(place.env.REDLINE_EC2_STATE, 'lab')), 'nor its keys')
  },
)

t.test(
  'an up that failed half-way goes on where it failed, and down removes what there is',
  { skip, buffered: true },
  async (t) => {
    const place = await openRegion(t, moto, 'eu-west-2')
    for (const FAIL of ['rds create-db-instance', '--instance-type c5.xlarge']) {
      const failed = await place.script('up', START, { FAIL })
      t.not(failed.code, 0)
      t.match(
        failed.stderr,
        /VcpuLimitExceeded.*did not finish, and what it made costs money.*tuning\/ec2\/down --name lab/s,
      )
    }
    t.equal((await place.inventory()).length, 5, 'key, group, database, API box and its volume')
    const elsewhere = await place.script('up', START, { REDLINE_EC2_STATE: path.join(place.folder, 'elsewhere') })
    t.equal(elsewhere.code, 1)
    t.match(elsewhere.stderr, /expected the keys of redline=lab.*another computer/)

    const blind = await place.script('down', ['--yes'], { FAIL: 'ec2 describe-volumes' })
    t.equal(blind.code, 1, 'what is not seen is not gone')
    t.match(blind.stderr, 'expected to see all kinds of resources')
    const stuck = await place.script('down', ['--yes'], { FAIL: 'ec2 delete-security-group' })
    t.equal(stuck.code, 1, 'what is left is no success')
    t.match(stuck.stderr, /Still there.*groups sg-/s)
    const down = await place.script('down', ['--yes'])
    t.equal(down.code, 0, down.stderr)
    t.strictSame(await place.inventory(), [])
  },
)

t.test('the commands of a dry run and of the page pass the parser of aws', { skip, buffered: true }, async (t) => {
  const place = await openRegion(t, moto, 'eu-central-1')
  const dry = await place.script('up', ['--dry-run', '--api-type', 't3.micro'], { AWS_DEFAULT_REGION: '' })
  t.match(dry.stdout, /run-instances .*--instance-type t3\.micro .*CpuCredits=unlimited/)
  const page = fs.readFileSync('tuning/ec2/RUNBOOK.md', 'utf8').matchAll(/^( *)```sh\n(.*?)^\1```/gms)
  const ofPage = [...page].map(([, , text]) => text).filter((text) => /^ *aws (?!configure)/m.test(text))
  t.ok(ofPage.length >= 3)
  const lines = dry.stdout.split('\n').filter((line) => line.startsWith('aws ') && !line.includes(' wait '))
  t.ok(lines.length >= 10)
  t.notOk(fs.existsSync(place.env.REDLINE_EC2_STATE), 'it makes no keys, either')
  fs.mkdirSync(path.join(place.env.REDLINE_EC2_STATE, 'lab'), { recursive: true })
  for (const name of ['key.pub', 'password']) fs.writeFileSync(path.join(place.env.REDLINE_EC2_STATE, 'lab', name), 'x')
  const parsed = await Promise.all(
    [...ofPage, ...lines].map((text) => place.shell(text, { SKELETON: '1', API_BOX: 'i-1' })),
  )
  t.strictSame(
    parsed.filter(({ code }) => code !== 0).map(({ stderr }) => stderr),
    [],
  )
  const wrong = await place.shell(lines[0].replace('--key-name', '--key-names'), { SKELETON: '1' })
  t.match(wrong.stderr, /required: --key-name/, 'and what is wrong, is found')
})

/**
 * Programs that stand for those of the two boxes. ssh runs the command in a folder of the host, on this machine; nothing of sshd,
 * cloud-init and npm is tested by it.
 */
const FAKES = {
  ssh: `#!/bin/bash
printf '%s\\n' "$*" >>"$SSH_LOG"
[ "$1" = -F ] && [ -r "$2" ] || exit 255
host=$3; shift 3
cd "$HOSTS/$host" && HOME=$PWD exec bash -c "$*"`,
  'cloud-init': '#!/bin/bash\nexit 2',
  curl: `#!/bin/bash\ntouch "\${@: -2:1}"`,
  go: '#!/bin/bash',
  npm: `#!${process.execPath}
import fs from 'node:fs'
const { HOSTS, INSERT_MODE, DATABASE_URL } = process.env
const words = process.argv.slice(2).join(' ')
if (/^ci |vegeta$/.test(words)) process.exit()
console.log('begins: npm ' + words + '; INSERT_MODE=' + INSERT_MODE + ' DATABASE_URL=' + (DATABASE_URL && 'given'))
fs.mkdirSync('results/run-1', { recursive: true })
fs.writeFileSync('results/run-1/report.html', 'done')
process.on('SIGINT', () => console.log('interrupted') ?? process.exit(130))
setInterval(() => fs.existsSync(HOSTS + '/go') && (console.log('ends') ?? process.exit(1)), 100)`,
}

t.test(
  'measure starts a run that outlives it, attaches again, and brings the results',
  { skip, buffered: true },
  async (t) => {
    const place = await openRegion(t, moto, 'us-west-2')
    const hosts = path.join(place.folder, 'hosts')
    const out = path.join(place.folder, 'out')
    const env = { HOSTS: hosts, SSH_LOG: path.join(place.folder, 'ssh.log'), SSH_AUTH_SOCK: '' }
    for (const host of ['api', 'load']) fs.mkdirSync(path.join(hosts, host, '.ssh'), { recursive: true })
    fs.writeFileSync(path.join(hosts, 'api/.ssh/authorized_keys'), 'ssh-ed25519 theirs\n')
    for (const [name, text] of Object.entries(FAKES)) {
      fs.writeFileSync(path.join(place.folder, 'bin', name), text, { mode: 0o755 })
    }
    const tooEarly = await place.script('measure', ['sweep'], env)
    t.equal(tooEarly.code, 1)
    t.match(tooEarly.stderr, /expected a running API box.*tuning\/ec2\/up --name lab/)
    t.equal((await place.script('up', START)).code, 0)

    const flags = ['--out', out, 'sweep', 'INSERT_MODE=single', '--slo', 'p99<5 ms']
    const child = spawn('tuning/ec2/measure', flags, { env: { ...place.env, ...env }, detached: true })
    await firstMatch('the run to begin', child.stdout, /begins/)
    process.kill(-Number(child.pid), 'SIGKILL')

    const api = await place.aws(
      "ec2 describe-instances --filters Name=tag:redline-role,Values=api --query 'Reservations[].Instances[].PrivateIpAddress' --output text",
    )
    const second = await place.script('measure', ['sweep'], env)
    t.match(second.stderr, 'a run is under way already', 'one at a time')
    fs.writeFileSync(path.join(hosts, 'go'), '')
    const { code, stdout } = await place.script('measure', ['--out', out, 'attach'], env)
    t.equal(code, 1, 'the code of the run')
    t.equal(
      stdout,
      `begins: npm run sweep -- --ssh ubuntu@${api} --slo p99<5 ms; INSERT_MODE=single DATABASE_URL=given\nends\n`,
      'from its first line',
    )
    t.equal(fs.readFileSync(path.join(out, 'run-1/report.html'), 'utf8'), 'done')

    const read = (/** @type {string} */ file) => fs.readFileSync(path.join(hosts, file), 'utf8')
    t.equal(read('load/.ssh/known_hosts'), `${api} ${HOST_KEY}\n`)
    t.equal(read('api/.ssh/authorized_keys'), `ssh-ed25519 theirs\n${read('load/.ssh/id_ed25519.pub')}`, 'once')
    t.match(
      read('load/.redline-run/lab.env'),
      /^DATABASE_URL="postgres:\/\/redline:[0-9a-f]{32}@redline-lab\..*sslmode=verify-full/m,
    )
    t.equal(fs.statSync(path.join(hosts, 'load/.redline-run/lab.env')).mode & 0o777, 0o600)
    const password = fs.readFileSync(path.join(place.env.REDLINE_EC2_STATE, 'lab/password'), 'utf8')
    t.notMatch(fs.readFileSync(env.SSH_LOG, 'utf8'), password, 'on no command line')

    const tune = await place.script('measure', ['--out', out, 'tune'], env)
    t.match(tune.stdout, /npm run tune -- --ssh \S+;/)
    const article = await place.script('measure', ['--out', out, 'article'], env)
    t.match(article.stdout, /npm run tune -- --ssh \S+ --preset article;/)
    const resumed = await place.script('measure', ['--out', out, 'tune', '--resume', 'results/run-1'], env)
    t.match(resumed.stdout, 'begins: npm run tune -- --resume results/run-1;', 'its flags are in its folder')

    fs.rmSync(path.join(hosts, 'go'))
    const last = spawn('tuning/ec2/measure', ['--out', out, 'tune', '--preset', 'full'], {
      env: { ...place.env, ...env },
    })
    await firstMatch('the run to begin', last.stdout, /begins.*--preset full;/)
    t.equal((await place.script('measure', ['--out', out, 'stop'], env)).code, 0)
    await until('the one that follows to end', () => last.exitCode !== null)
    t.equal(last.exitCode, 130)
    t.match(await place.script('measure', ['stop'], env), { code: 1, stderr: 'no run is under way' })
  },
)
