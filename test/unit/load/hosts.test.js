import t from 'tap'
import { explain } from '../../../load/ssh/failures.js'
import { sshPlanOf } from '../../../load/ssh/plan.js'
import { found } from '../../../load/ssh/prepare.js'

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
    ['', /expected ssh to get in, got: no word of it/],
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

t.test('of several Nodes the first that is new enough is taken', async (t) => {
  const lines =
    'cache /home/u/.cache/redline\nnode v12.22.9 /usr/bin/node\nnode v22.1.0 /home/u/.nvm/bin/node\nnpm /home/u/.nvm/bin/npm\n'
  t.match(found(lines, 'box'), {
    node: '/home/u/.nvm/bin/node',
    cache: '/home/u/.cache/redline',
    there: false,
    hasNpm: true,
  })
  t.throws(
    () => found('node v20.18.1 /usr/bin/node\n', 'box'),
    /--ssh box: expected Node 20\.19 or newer there, got v20\.18\.1/,
  )
})

t.test('flags that do not go together', async (t) => {
  t.throws(() => sshPlanOf({ ssh: 'box', url: 'http://box/' }), /--ssh: cannot be combined with --url/)
  t.throws(() => sshPlanOf({ 'ssh-port': 3000 }), /--ssh-port: requires --ssh user@host/)
  t.equal(sshPlanOf({}), null)
  t.strictSame(sshPlanOf({ ssh: 'box' }), { host: 'box', config: null, port: 3000, address: null })
})
