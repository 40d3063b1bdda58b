import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { binary } from '../../../load/generators/drivers/vegeta/program.js'
import { prepareHosts } from '../../../load/generators/hosts/prepare.js'
import { main } from '../../../load/run/shell.js'
import { runTrial } from '../../../load/run/trial.js'
import { openUrl } from '../../../load/targets/index.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { loadOnce } from '../../support/load.js'
import { createShell } from '../../support/shell.js'
import { withoutDriver } from '../../support/skip.js'
import { startSshd, withoutSshd } from '../../support/sshd.js'
import { until } from '../../support/until.js'

/**
 * @import { Host } from '../../support/hosts.js'
 * @import { Sshd } from '../../support/sshd.js'
 * @import { AddressInfo } from 'node:net'
 */

const DRIVE = fileURLToPath(new URL('../../support/drive.js', import.meta.url))

/** Few ports, of which each connection takes one for as long as it lasts, and no minute more. */
const FEW_PORTS = 'cd /proc/sys/net/ipv4; echo "40000 40063" > ip_local_port_range; echo 0 > tcp_max_tw_buckets'

/** With which one host needs more connections at a time than it has ports, and each of two does not. */
const RATE_RPS = 300
const SLOW_MS = 300

const MIX = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 1 }
const LOAD = /** @type {any} */ ({
  ...{ trial: 1, driver: 'vegeta', loop: 'open', rate_rps: RATE_RPS, connections: 120, mix: MIX },
  ...{ warmup_s: 0, duration_s: 1.5, timeout_s: 5, fresh_connections: true },
})
const signal = new AbortController().signal

/** Longer than a silence that ends a connection. */
const DEADLINE_MS = 60_000

t.test('load hosts', { skip: withoutHosts() ?? withoutSshd() ?? withoutDriver('vegeta') ?? false }, async (t) => {
  const hosts = await openHosts(t, ['a', 'b', 'far', 'still', 'other'], { seen: foldersOfLocust() })
  const { a, b, far, still, other } = hosts
  const architecture = 'ForceCommand exec setarch i686 sh -c "$SSH_ORIGINAL_COMMAND"'
  const sshds = await Promise.all([
    ...[a, b, far, still].map((host) => startSshd(host)),
    startSshd(other, { settings: [architecture], env: { PATH: '/usr/bin:/bin' } }),
  ])
  const [userA, userB, userFar, userStill, userOther] = sshds.map(({ user }) => user)
  const config = path.join(temporaryFolder(t), 'config')
  fs.writeFileSync(config, sshds.map(sectionOf).join(''))
  const server = await startServer(t, a.gateway)
  const twoHosts = ['--load-hosts', `${userA},${userB}`, '--ssh-config', config]
  const flags = ['--url', server.url, '--driver', 'vegeta', ...twoHosts]
  const ready = (/** @type {string[]} */ names, driver = 'vegeta', file = config) =>
    prepareHosts({ driver, hosts: names, config: file, signal, note: () => {} })
  const trial = (/** @type {any} */ places, slo_ms = 2000, /** @type {any} */ load = {}, abort = signal) => {
    const setup = { target: openUrl(server.url), database: null, runId: 'test', experiment: 'test', at: {}, cell: null }
    const plan = { ...LOAD, load_hosts: places, ssh_config: config, ...load }
    return runTrial({ ...setup, slo: { p99_ms: slo_ms, success_ratio: 1 } }, plan, abort, () => {})
  }
  for (const host of [a, b]) await host.run(['sh', '-c', FEW_PORTS])
  const [placeA, placeB, placeFar, placeStill] = await ready([userA, userB, userFar, userStill])
  const places = [placeA, placeB]

  // Takes as long as a silence lasts: beside the others.
  const silenced = (async () => {
    const begun = server.requests(20, far.address)
    const running = trial([placeFar], 2000, { duration_s: 60, rate_rps: 50 })
    running.catch(() => {})
    await begun
    const before = far.processes().filter(({ command }) => command.includes('vegeta'))
    await far.wire('down')
    const error = await running.then(
      () => null,
      (reason) => reason,
    )
    // sshd itself waits for a line that it does not know to be dead.
    await until(
      'nothing to run there',
      () => runningOn(far).every(({ command }) => command.startsWith('sshd')),
      DEADLINE_MS,
    )
    return { before, message: error?.message }
  })()
  silenced.catch(() => {})

  // So does standing still.
  const stopped = (async () => {
    const begun = server.requests(20, still.address)
    const load = { ...LOAD, url: server.url, load_hosts: [placeStill], ssh_config: config }
    const session = await DRIVERS.vegeta.open({ ...load, rate_rps: 50, timeout_s: 1, latest_end_s: 3 }, signal)
    t.teardown(() => session.close())
    // Long enough that it is under way whenever it is stopped.
    const running = session.run({ duration_s: 10, signal, onCounts: () => {}, onEnd: () => {}, enough: signal })
    running.catch(() => {})
    await begun
    const own = still.processes().filter(({ command }) => /vegeta\S* attack/.test(command) && !command.startsWith('sh'))
    await still.run(['kill', '-STOP', String(own[0].pid)])
    const error = await running.then(
      () => null,
      (reason) => reason,
    )
    await session.close()
    await until('vegeta to end', () => !runningOn(still).some(({ command }) => command.includes('vegeta')), DEADLINE_MS)
    return error?.message
  })()
  stopped.catch(() => {})

  await t.test('two offer what one cannot, by their ports', async (t) => {
    server.slow(() => SLOW_MS)
    const alone = await trial([places[0]])
    t.match(alone.outcome, { verdict: 'invalid', blame: 'generator' })
    t.match(alone.outcome.because, new RegExp(`client:ports \\(on ${userA}\\)`))
    t.equal(alone.limit.resource, 'generator-ports')

    const out = path.join(temporaryFolder(t), 'out')
    const times = ['--duration', '1500ms', '--warmup', '200ms', '--slo-p99', '2s', '--connections', '120']
    const lab = startLab(['sweep', ...flags, ...times, '--rates', String(RATE_RPS), '--seed', '1', '--out', out])
    const { code, stderr } = await lab.ended
    t.equal(code, 0, stderr)
    // What was late beside other tests is repeated.
    const trials = readTrials(out)
    const record = trials[trials.length - 1]
    t.match(record.outcome, { verdict: 'pass' })
    t.match(record.traffic, { planned: 450, sent: 450 })
    t.strictSame([record.traffic.status, record.traffic.errors], [{ 201: 450 }, {}])
    t.strictSame(record.load.load_hosts, [userA, userB])
    const { hosts: found } = record.traffic
    t.equal(found.length, 2)
    t.match(
      found,
      [userA, userB].map((host) => ({ host, sent: 225, completed: 225, lateness_ms: { p99: Number } })),
    )
    for (const { start_ms, cpu_s } of found) t.ok(start_ms >= 0 && cpu_s > 0, `${start_ms} ms, ${cpu_s} s`)
    t.match(readRun(out).load_hosts, [{ host: userA, cores: Number }, { host: userB }])
    t.equal(readRun(out).load_hosts.length, 2)
    const report = fs.readFileSync(path.join(out, 'report.md'), 'utf8')
    t.match(
      report,
      new RegExp(`- Load from ${userB} \\(Linux .* cores\\): ${225 * trials.length} requests, at most .* late at p99`),
    )
  })

  await t.test('the p99 is that of all requests of all hosts, which are those of one schedule', async (t) => {
    server.slow((address) => (address === b.address ? 300 : 0))
    const temporary = ownTemporaryFolder(t)
    const load = { ...LOAD, url: server.url, rate_rps: 200, load_hosts: places, ssh_config: config }
    const session = await DRIVERS.vegeta.open(load, signal)
    t.teardown(() => session.close())
    const bodies = server.bodies()
    const phase = { duration_s: 1, signal, onCounts: () => {}, onEnd: () => {}, enough: signal }
    const traffic = await session.run(phase)
    const [folder] = fs.readdirSync(temporary)
    const raw = [0, 1].map((part) => rawLatencies(path.join(temporary, folder, `results-${part}.bin`), 100))
    const pooled = raw.flat()
    t.equal(pooled.length, 200)
    t.ok(Math.abs(p99(pooled) - Number(traffic.latency_ms?.p99)) < 0.001, `${p99(pooled)} ${traffic.latency_ms?.p99}`)
    const emails = bodies().map((body) => JSON.parse(body).email)
    const expected = Array.from({ length: 200 }, (_, i) => `user-1-1-${i}@redline.test`)
    t.strictSame(emails.sort(), expected.sort(), 'the requests of one generator, each once')
    t.equal(server.seenFrom(b.address).filter((body) => /-1-\d*[02468]@/.test(body)).length, 0, 'b has the odd ones')
  })

  await t.test('one that falls behind makes the trial invalid, and is named', async (t) => {
    server.slow(() => 0)
    // It goes on long after the one has been stopped and let go, and no request in flight meanwhile times out.
    const times = { rate_rps: 200, duration_s: 8, timeout_s: 60 }
    const running = trial(places, 10_000, { ...times, connections: 100, fresh_connections: false })
    await server.requests(50, b.address)
    const [{ pid }] = b
      .processes()
      .filter(({ command }) => /vegeta\S* attack/.test(command) && !command.startsWith('sh'))
    await b.run(['kill', '-STOP', String(pid)])
    await server.requests(200, a.address)
    await b.run(['kill', '-CONT', String(pid)])
    const { outcome, traffic } = await running
    t.match(outcome, { verdict: 'invalid', blame: 'generator' })
    t.match(outcome.because, new RegExp(`^${userB} was [\\d.]+ m?s late at p99 \\(the other load hosts went on`))
    t.equal(traffic.errors['client:timeout'], undefined)
  })

  await t.test('a lab that is gone, and one that is interrupted, leave nothing there', async (t) => {
    for (const name of /** @type {const} */ (['SIGKILL', 'SIGINT'])) {
      const out = path.join(temporaryFolder(t), 'out')
      const times = ['--rates', '100', '--duration', '60s', '--connections', '10']
      // Killed, it cannot clear away what it has here.
      const lab = startLab(['sweep', ...flags, ...times, '--out', out], { TMPDIR: temporaryFolder(t) })
      await Promise.all([server.requests(20, a.address), server.requests(20, b.address)])
      t.ok(runningOn(a).length > 0 && runningOn(b).length > 0)
      lab.child.kill(name)
      const { code } = await lab.ended
      t.equal(code, name === 'SIGINT' ? 130 : null)
      await until('nothing to run there', () => runningOn(a).length + runningOn(b).length === 0, DEADLINE_MS)
      t.strictSame(await Promise.all([a, b].map(temporaryFilesOn)), ['', ''])
    }
  })

  await t.test('what stands in the way is said in one line', async (t) => {
    const line = (/** @type {Promise<any>} */ work) =>
      work.then(
        () => 'nothing',
        (error) => error.message,
      )
    const wrongKey = path.join(temporaryFolder(t), 'config')
    const [first, second] = sshds
    fs.writeFileSync(wrongKey, sectionOf({ ...first, identityFile: second.identityFile }))
    const nobody = path.join(temporaryFolder(t), 'config')
    fs.writeFileSync(nobody, `${sectionOf(first)}  Port 2\n`)
    await b.run(['sh', '-c', 'rm -rf /root/.cache; mkdir /root/.cache; mount -t tmpfs -o size=1m none /root/.cache'])
    const [key, refused, full, architecture] = await Promise.all([
      line(ready([userA], 'vegeta', wrongKey)),
      line(ready([userA], 'vegeta', nobody)),
      line(ready([userB])),
      line(ready([userOther])),
    ])
    await b.run(['umount', '/root/.cache'])
    t.match(key, new RegExp(`^--load-hosts ${userA}: expected a key that the host takes, got: .*Permission denied`))
    t.match(refused, /^--load-hosts root@\S+: expected an sshd that answers, got: .*Connection refused/)
    t.match(full, new RegExp(`${userB} .*No space left on device`))
    const has = spawnSync('uname', ['-m'], { encoding: 'utf8' }).stdout.trim()
    t.match(
      architecture,
      `--load-hosts ${userOther}: expected Linux ${has}, as this machine, to copy vegeta there, got Linux i686`,
    )
    for (const text of [key, refused, full, architecture]) t.notMatch(text, /\n/)
  })

  await t.test(
    'locust: workers on hosts, one answer from all their samples',
    { skip: withoutDriver('locust') },
    async (t) => {
      const [lacking, load_hosts] = await Promise.all([
        ready([userOther], 'locust').catch((error) => error.message),
        ready([userA, userB], 'locust'),
      ])
      t.match(lacking, /expected locust on PATH there, found none: pip install locust==/)
      server.slow((address) => (address === b.address ? 100 : 0))
      const origin = { load_hosts, ssh_config: config }
      const bodies = server.bodies()
      const traffic = await loadOnce('locust', server.url, { connections: 8, duration_s: 1, origin })
      t.strictSame(traffic.errors, {})
      t.equal(traffic.completed, bodies().length)
      t.equal(new Set(bodies()).size, bodies().length, 'nothing twice')
      t.strictSame(traffic.hosts.map((/** @type {any} */ { host }) => host).sort(), [userA, userB].sort())
      const [slow, fast] = [userB, userA].map((user) =>
        traffic.hosts.find((/** @type {any} */ { host }) => host === user),
      )
      t.ok(slow.sent > 0 && fast.sent > slow.sent && slow.cpu_s > 0 && slow.cores > 0)
      t.equal(fast.completed + slow.completed, traffic.completed)
      t.ok(traffic.latency_ms.max >= 100 && traffic.latency_ms.min < 100, 'of both hosts')
      await until('nothing to run there', () => runningOn(a).length + runningOn(b).length === 0, DEADLINE_MS)
      t.strictSame(await Promise.all([a, b].map(temporaryFilesOn)), ['', ''])
    },
  )

  // A port that was used waits for a second before it can be used again from the same address: none is used twice.
  for (const [i, driver] of ['paced', 'vegeta'].entries()) {
    await t.test(`${driver}: a second local address brings its own ports`, async (t) => {
      const options = { rate_rps: 400, duration_s: 0.5, connections: 90, fresh_connections: true }
      const drive = async (/** @type {object} */ origin) => {
        const argv = [process.execPath, DRIVE, driver, 'here', JSON.stringify({ ...options, origin })]
        const [program, ...args] = a.inNetwork(argv)
        const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
        return JSON.parse(Buffer.concat(await child.stdout.toArray()).toString())
      }
      const one = await drive({ local_addresses: [`127.0.${i}.1`] })
      t.ok(one.errors['client:ports'] > 0, JSON.stringify(one.errors))
      const two = await drive({ local_addresses: [`127.0.${i}.2`, `127.0.${i}.3`] })
      t.strictSame(two.errors, {})
      t.match(two, { completed: 200, success_ratio: 1 })
    })
  }

  await t.test('a network that is gone ends the trial here and what ran there', async (t) => {
    const { before, message } = await silenced
    t.comment(message)
    t.ok(before.length > 0)
    t.match(message, new RegExp(userFar))
    await far.wire('up')
    t.equal(await temporaryFilesOn(far), '')
  })

  await t.test('one that stands still for good is named, and nothing of it is left', async (t) => {
    t.match(await stopped, `${userStill}: expected vegeta to end within 15 s`)
    t.equal(await temporaryFilesOn(still), '')
  })
})

t.test('an address that this machine does not have is refused in one line', async (t) => {
  const shell = createShell()
  const flags = ['--local-addresses', '192.0.2.1', '--rates', '10', '--out', t.testdirName]
  t.equal(await main({ sweep }, ['sweep', ...flags], shell), 2)
  t.match(shell.said.stderr, /expected addresses of this machine, got 192\.0\.2\.1 \(EADDRNOTAVAIL\)\n$/)
})

/** Where locust and its Python are, where hosts have folders of their own. @returns {string[]} */
function foldersOfLocust() {
  if (withoutDriver('locust')) return []
  const file = fs.realpathSync(spawnSync('sh', ['-c', 'command -v locust'], { encoding: 'utf8' }).stdout.trim())
  const python = /^#!(\S+)/.exec(fs.readFileSync(file, 'utf8'))?.[1] ?? 'python3'
  const prefixes = execFileSync(python, ['-c', 'import sys; print(sys.prefix, sys.base_prefix)'], { encoding: 'utf8' })
  const onPath = path.dirname(spawnSync('sh', ['-c', 'command -v locust'], { encoding: 'utf8' }).stdout.trim())
  const folders = [...new Set([...prefixes.trim().split(' '), onPath])]
  return folders.filter((folder) => /^\/(root|tmp|var\/tmp|run)\//.test(folder))
}

/** @param {Sshd} sshd */
function sectionOf({ user, identityFile, knownHostsFile }) {
  return `Host ${user.split('@')[1]}
  IdentityFile ${identityFile}
  IdentitiesOnly yes
  UserKnownHostsFile ${knownHostsFile}
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`
}

/**
 * Answers 201 after as long as it is told, and knows who asked what.
 * @param {any} t
 * @param {string} address
 */
async function startServer(t, address) {
  /** @type {{ from: string, body: string }[]} */
  const seen = []
  let delay_ms = (/** @type {string} */ _from) => 0
  let mark = 0
  const server = http.createServer({ keepAliveTimeout: 60_000 }, async (req, res) => {
    const from = String(req.socket.remoteAddress)
    seen.push({ from, body: Buffer.concat(await req.toArray()).toString() })
    setTimeout(() => res.writeHead(201, { 'Content-Length': 0 }).end(), delay_ms(from))
  })
  server.listen(0, address)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = /** @type {AddressInfo} */ (server.address())
  return {
    url: `http://${address}:${port}/user`,
    slow: (/** @type {(from: string) => number} */ of) => {
      delay_ms = of
    },
    /** So many more from there. @param {number} count @param {string} from @returns {Promise<void>} */
    requests: (count, from) => {
      const number = () => seen.filter((one) => one.from === from).length
      const wanted = number() + count
      return until(`${count} requests from ${from}`, () => number() >= wanted, DEADLINE_MS)
    },
    /** Those that come from now on, without those from the host that goes its own way. */
    bodies: () => {
      mark = seen.length
      return () => seen.slice(mark).flatMap(({ from, body }) => (from.endsWith('.4') ? [] : body))
    },
    seenFrom: (/** @type {string} */ from) => seen.slice(mark).flatMap((one) => (one.from === from ? one.body : [])),
  }
}

/** What runs for us there: all but its sshd. @param {Host} host */
function runningOn(host) {
  return host.processes().filter(({ command }) => !command.includes('[listener]'))
}

/** @param {Host} host */
async function temporaryFilesOn(host) {
  const found = await host.run(['sh', '-c', 'ls -d /tmp/tmp.* 2>/dev/null; true'])
  const isSeen = (/** @type {string} */ name) => foldersOfLocust().some((one) => `${one}/`.startsWith(`${name}/`))
  return found
    .split('\n')
    .filter((name) => name !== '' && !isSeen(name))
    .join('\n')
}

/** As the schedule sees them. @param {string} file @param {number} rate_rps of this part */
function rawLatencies(file, rate_rps) {
  const csv = execFileSync(binary(), ['encode', '-to=csv', file], { encoding: 'utf8' })
  const rows = csv
    .trim()
    .split('\n')
    .map((line) => line.split(','))
  const hits = rows
    .filter((row) => row[1] === '201')
    .map((row) => {
      return { at_ns: BigInt(row[0]), latency_ms: Number(row[2]) / 1e6, due_ms: (Number(row[8]) * 1000) / rate_rps }
    })
  const [{ at_ns: base_ns }] = hits
  const slips = hits.map(({ at_ns, due_ms }) => Number(at_ns - base_ns) / 1e6 - due_ms)
  const start_ms = Math.min(...slips)
  return hits.map(({ latency_ms }, i) => latency_ms + slips[i] - start_ms)
}

/** @param {number[]} values */
function p99(values) {
  return [...values].sort((x, y) => x - y)[Math.ceil(0.99 * values.length) - 1]
}

/** @param {any} t */
function ownTemporaryFolder(t) {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  process.env.TMPDIR = t.testdir()
  return String(process.env.TMPDIR)
}
