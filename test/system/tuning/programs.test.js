import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { balance } from '../../../tuning/experiments/balance/balance.js'
import { pinningText } from '../../../tuning/experiments/balance/open.js'
import { processes } from '../../../tuning/experiments/processes/processes.js'
import { ramp } from '../../../tuning/experiments/ramp/ramp.js'
import { findHaproxy, startHaproxy } from '../../../tuning/knobs/haproxy.js'
import { findPgbouncer } from '../../../tuning/knobs/pgbouncer.js'
import { temporaryFolder } from '../../support/lab.js'
import { refuses } from '../../support/refusals.js'
import { httpServer } from '../../support/servers.js'

t.test('without PgBouncer the cell is not applied, and says how to get it', async (t) => {
  const message = 'expected pgbouncer on PATH, found none; sudo apt-get install pgbouncer installs it'
  t.throws(() => findPgbouncer(['/nowhere/pgbouncer']), new NotApplied(message))
})

t.test('a path that was given for HAProxy is HAProxy, or refused', async (t) => {
  t.match(findHaproxy('test/support/simulated/haproxy'), { version: '2.6.12' })
  t.equal(findHaproxy(undefined, ['/nowhere/haproxy']), null, 'none on PATH is for the verb to judge')
  for (const [name, verb] of Object.entries({ balance, processes })) {
    for (const file of ['/nowhere/haproxy', process.execPath]) {
      await refuses(t, { [name]: verb }, [
        [['--haproxy', file], /--haproxy: expected the path of the haproxy program, got /],
      ])
    }
  }
})

t.test('processes: --quick measures less, and other flags override it', async (t) => {
  const plan = (/** @type {object} */ flags) =>
    processes.plan({ haproxy: 'test/support/simulated/haproxy', ...flags }, {})
  t.match(plan({}), { blocks: 6, duration_s: 3 })
  t.match(plan({ quick: true }), { blocks: 1, duration_s: 1 })
  t.match(plan({ quick: true, blocks: 7, duration: 2000 }), { blocks: 7, duration_s: 2 })
  t.strictSame(plan({}).processes.slice(0, 2), [1, 2])
})

t.test('--each is part of the plan, and is refused without a mix of several requests', async (t) => {
  const folder = temporaryFolder(t)
  const file = (/** @type {string} */ name, /** @type {object[]} */ entries) => {
    writeFileSync(path.join(folder, name), JSON.stringify(entries))
    return path.join(folder, name)
  }
  const [one, two] = [
    file('one.json', [{ name: 'a', path: '/' }]),
    file(
      'two.json',
      ['a', 'b'].map((name) => ({ name, path: '/' })),
    ),
  ]
  const refused = /--each: requires --mix with several requests/
  await refuses(t, { ramp }, [
    [['--each'], refused],
    [['--each', '--mix', one], refused],
  ])
  const planned = (/** @type {object} */ flags) => ramp.plan({ mix: two, ...flags }, {})
  t.equal(planned({ each: true }).each, true)
  t.notOk('each' in planned({}), 'a run of an older version can be resumed')
  const minutesOf = (/** @type {any} */ plan) => Number(/about (\d+) min/.exec(String(ramp.size?.(plan)))?.[1])
  t.ok(minutesOf(planned({ each: true })) > minutesOf(planned({})))
})

t.test('the report says what was pinned where', async (t) => {
  const cores = { api: '0', others: '1' }
  t.match(
    pinningText(cores),
    /^The balancer ran on core 0 alone, the endpoints, the generator and the lab on core 1\.$/,
  )
  t.match(pinningText(null), /^Nothing was pinned: this system has one core/)
  const pinning = /** @type {(plan: any) => string} */ (processes.pinning)
  t.match(
    pinning({ cores }),
    /^The API processes were spread over the cores 0,1, the first on core 0; HAProxy, .* ran on core 1,/,
  )
  t.match(pinning({ cores: null }), /^Nothing was pinned: this system has one core/)
})

const program = findHaproxy()?.program
const skip = program ? false : 'this needs haproxy: apt-get install haproxy'

t.test('HAProxy is ready when it listens, and uses all of its servers', { skip }, async (t) => {
  const names = ['one', 'two']
  const urls = await Promise.all(names.map((name) => httpServer(t, (_, res) => void res.end(name))))
  const servers = urls.map((url, i) => ({ name: names[i], port: Number(new URL(url).port) }))
  const where = { env: process.env, logFile: `${temporaryFolder(t)}/haproxy.log`, cores: null }
  const backend = { balance: 'leastconn', servers, watched: false, retries: false }
  const { service, ports } = await startHaproxy(String(program), where, backend)
  t.teardown(service.stop)
  const answers = new Set()
  for (let i = 0; i < 4; i++) answers.add(await (await fetch(`http://127.0.0.1:${ports[0]}/`)).text())
  t.strictSame([...answers].sort(), names)
})
