import t from 'tap'
import { workersOf } from '../../../../load/generators/drivers/locust/workers.js'
import { openOrigin } from '../../../../load/generators/hosts/prepare.js'
import { main } from '../../../../load/run/shell.js'
import { explain } from '../../../../load/system/ssh/failures.js'
import { sshPlanOf } from '../../../../load/system/ssh/plan.js'
import { sweep } from '../../../../load/verbs/sweep/sweep.js'
import { createShell } from '../../../support/shell.js'

t.test('what ssh says, as one line', async (t) => {
  /** @type {[string, RegExp][]} */
  const cases = [
    [
      'ssh: Could not resolve hostname box: Name or service not known\n',
      /a host that can be found, got: Could not resolve hostname box/,
    ],
    [
      'ssh: connect to host 10.0.0.9 port 22: Connection timed out\n',
      /an sshd that answers, got: connect to host 10\.0\.0\.9 port 22: Connection timed out/,
    ],
    ['kex_exchange_identification: Connection closed by remote host\n', /an sshd that answers/],
    [
      'No ED25519 host key is known for box and you have requested strict checking.\nHost key verification failed.\n',
      /ssh-keyscan box \|/,
    ],
    [
      'Received disconnect from 10.0.0.9 port 22:2: Too many authentication failures\n',
      /a key that the host takes, got: .*Too many authentication failures/,
    ],
    [
      '/home/me/.ssh/config: line 3: Bad configuration option: hots\n/home/me/.ssh/config: terminating, 1 bad configuration options\n',
      /a configuration that ssh can read, got: .*hots/,
    ],
    ['', /expected ssh to get in, got: no output/],
    ['something new\n', /expected ssh to get in, got: something new/],
  ]
  for (const [said, line] of cases) {
    const text = explain(said, 'ubuntu@box')
    t.match(text, line)
    t.match(text, /^--ssh ubuntu@box: expected [^\n]*$/)
  }
})

t.test('what to do about a host key names the host, and its port where there is one', async (t) => {
  const unknown = 'Host key verification failed.\n'
  const changed = '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n'
  /** @type {[string, string, RegExp][]} */
  const cases = [
    ['ubuntu@box', unknown, /\(ssh-keyscan box >> /],
    ['ubuntu@2001:db8::9', unknown, /\(ssh-keyscan 2001:db8::9 >> /],
    ['ssh://ubuntu@box:2222', unknown, /\(ssh-keyscan -p 2222 box >> /],
    ['ssh://ubuntu@[2001:db8::9]:2222', unknown, /\(ssh-keyscan -p 2222 2001:db8::9 >> /],
    ['ubuntu@box', changed, /\(ssh-keygen -R box\)/],
    ['ssh://box:2222', changed, /\(ssh-keygen -R '\[box\]:2222'\)/],
  ]
  for (const [host, said, line] of cases) t.match(explain(said, host), line)
})

t.test('flags that do not go together', async (t) => {
  t.throws(() => sshPlanOf({ ssh: 'box', url: 'http://box/' }), /--ssh: cannot be combined with --url/)
  t.throws(() => sshPlanOf({ 'ssh-port': 3000 }), /--ssh-port: requires --ssh user@host/)
  t.equal(sshPlanOf({}), null)
  t.strictSame(sshPlanOf({ ssh: 'box' }), { host: 'box', config: null, port: 3000, address: null })
})

t.test('workers are spread by the cores of the hosts', async (t) => {
  const cores = (/** @type {number[]} */ ...numbers) => numbers.map((one) => ({ cores: one }))
  t.strictSame(workersOf(cores(2, 4), 100), [2, 4])
  t.strictSame(workersOf(cores(2, 4), 3), [2, 1])
  t.strictSame(workersOf(cores(1, 1, 8), 5), [1, 1, 3])
  t.strictSame(workersOf(cores(4, 4), 1), [1, 0])
})

t.test('flags of load hosts that do not go together are refused in one line', async (t) => {
  const url = ['--url', 'http://10.0.0.5/user']
  const vegeta = ['--driver', 'vegeta']
  const rows = /** @type {[string[], RegExp][]} */ ([
    [[...url, '--load-hosts', 'a,b'], /expected --driver vegeta \(open loop\) or locust \(closed loop\), got paced/],
    [[...vegeta, '--load-hosts', 'a,b'], /--load-hosts: requires --url or --ssh: the local API/],
    [[...url, ...vegeta, '--load-hosts', 'a,-oProxyCommand=x'], /--load-hosts: expected hosts as ssh takes them/],
    [[...url, ...vegeta, '--load-hosts', 'a,a'], /--load-hosts: expected hosts as ssh takes them, each once/],
    [
      [...url, ...vegeta, '--load-hosts', 'a,b', '--connections', '1'],
      /expected a connection for each of the 2, got 1/,
    ],
    [['--ssh-config', 'file'], /--ssh-config: requires --ssh user@host/],
    [['--driver', 'wrk', '--local-addresses', '127.0.0.1,127.0.0.2'], /expected --driver paced .* got wrk/],
    [['--local-addresses', 'localhost'], /--local-addresses: expected IP addresses, each once/],
  ])
  for (const [flags, line] of rows) {
    const shell = createShell()
    t.equal(await main({ sweep }, ['sweep', '--out', t.testdirName, ...flags], shell), 2, flags.join(' '))
    t.match(shell.said.stderr, line)
    t.equal(shell.said.stderr.trim().split('\n').length, 1)
  }
})

t.test('a load host would reach itself by a loopback address', async (t) => {
  const refused = async (/** @type {object} */ plan) => {
    const io = { signal: AbortSignal.abort(), progress: { note: () => {} } }
    return openOrigin(/** @type {any} */ ({ driver: 'vegeta', load_hosts: ['a', 'me@localhost'], ...plan }), io)
  }
  const itself = /expected a URL that reaches the service from a, got 127\.0\.0\.1, which is that host itself/
  await t.rejects(refused({ url: 'http://127.0.0.1:8080/' }), itself)
  const sides = { a: { url: 'http://10.0.0.5/' }, b: { url: 'http://127.0.0.1:8080/' } }
  await t.rejects(refused({ url: 'http://10.0.0.5/', sides }), itself)
})
