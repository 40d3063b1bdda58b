import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { pinningText } from '../../../../load/run/site.js'
import { compare } from '../../../../tuning/experiments/compare/compare.js'
import { ramp } from '../../../../tuning/experiments/ramp/ramp.js'
import { labelOf, placeOf, sideFlag } from '../../../../tuning/knobs/sides.js'
import { caught } from '../../../support/caught.js'
import { temporaryFolder } from '../../../support/lab.js'
import { refuses } from '../../../support/refusals.js'

t.test('a side has settings that take effect, and no credentials in its URL', async (t) => {
  const folder = temporaryFolder(t)
  const file = (/** @type {string} */ text) => {
    writeFileSync(path.join(folder, 'a.env'), text)
    return path.join(folder, 'a.env')
  }
  t.strictSame(sideFlag('a').parse('http://127.0.0.1:1/user'), { url: 'http://127.0.0.1:1/user', file: null })
  t.equal(sideFlag('a').parse('http://bob:secret@127.0.0.1:1/user'), undefined)
  for (const line of ['DATABASE_URL=postgres://a/b', 'PGHOST=a', 'CONNECTIONS=fresh', 'GENERATOR=vegeta', 'PORT=1']) {
    t.match(
      caught(() => sideFlag('a').parse(file(line))),
      { message: new RegExp(`a.env: expected .*${line.split('=')[0]}`) },
      line,
    )
  }
  for (const line of ['BODY_LIMIT_BYTES=16384', 'PGBOUNCER_POOL=4', 'LOG_LEVEL=warn']) {
    t.strictSame(sideFlag('a').parse(file(line)), { url: null, file: path.join(folder, 'a.env') }, line)
  }
  t.match(
    caught(() => sideFlag('a').parse(file('INSERT_MOD=single'))),
    { message: /expected settings of the API .* got INSERT_MOD$/ },
  )
})

t.test('where things ran is the same whichever side is opened first', async (t) => {
  const bench = { database: { kind: 'embedded' }, cores: { api: '0', others: '1' } }
  const first = (/** @type {string | null} */ cores) => pinningText({ url: null }, bench, { cores })
  t.equal(first(null), first('0'))
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [[], /--a: expected the URL of a running service .*, or a file of settings/],
    [['--a', 'http://127.0.0.1:1/'], /--b: expected/],
    [['--a', 'nowhere.env', '--b', 'http://127.0.0.1:1/'], /--a: expected .* got "nowhere.env"/],
  ]
  await refuses(t, { compare }, wrong)
})

t.test('a side that has a host is the API there, with the settings of its file or the defaults', async (t) => {
  const sshTo = (/** @type {string} */ host) => ({ host, config: 'ssh_config', port: 3001, address: null })
  const given = { 'ssh-a': 'root@one', 'ssh-b': 'root@two', 'ssh-config': 'ssh_config', 'ssh-port': 3001 }
  const b = { url: null, file: 'b.env' }
  for (const { plan: planOf } of [compare, ramp]) {
    const { url, sides } = planOf({ ...given, b }, {})
    t.equal(url, null)
    t.strictSame(sides, {
      a: { url: null, file: null, ssh: sshTo('root@one') },
      b: { url: null, file: 'b.env', ssh: sshTo('root@two') },
    })
    t.strictSame(Object.values(sides).map(labelOf), ['the API on root@one', 'b.env on root@two'])
  }
  const [here, there] = /** @type {any[]} */ ([{ logFile: 'here' }, { logFile: 'there' }])
  const place = { ...here, places: { 'root@one': there } }
  t.equal(placeOf({ url: null, file: null }, place), place)
  t.equal(placeOf({ url: null, file: null, ssh: sshTo('root@one') }, place), there)
  t.throws(() => placeOf({ url: null, file: null, ssh: sshTo('root@two') }, place), /a connection to root@two/)
})

t.test('hosts of sides that make no sense are refused with one line', async (t) => {
  const url = 'http://127.0.0.1:1/'
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--a', url, '--ssh-a', 'root@box'], /--ssh-a: expected --a to be a file of settings, or left out, got a URL/],
    [['--a', url, '--b', url, '--ssh-b', 'root@box'], /--ssh-b: expected --b to be a file of settings/],
    [['--a', url, '--ssh-b=-oProxyCommand=x'], /--ssh-b: expected what ssh takes/],
    [['--a', url, '--b', url, '--ssh-port', '3001'], /--ssh-port: requires --ssh-a or --ssh-b/],
    [['--a', url, '--b', url, '--ssh-config', 'file'], /--ssh-config: requires --ssh-a or --ssh-b/],
  ]
  await refuses(t, { compare }, [...wrong, [['--ssh-a', 'root@box'], /--b: expected .*, or --ssh-b with a host, got/]])
  await refuses(t, { ramp }, wrong)
})
