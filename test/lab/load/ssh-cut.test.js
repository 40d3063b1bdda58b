import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { rows } from '../../support/database.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { startPostgres } from '../../support/postgres-host.js'
import { ourProcesses, runSweep, startBox, untilNothingRuns } from '../../support/ssh-box.js'
import { withoutSshd } from '../../support/sshd.js'
import { startOwnClock } from '../../support/stalls.js'
import { until } from '../../support/until.js'

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { Box } from '../../support/ssh-box.js'
 */

const urlOf = (/** @type {string} */ file) => new URL(`../../../${file}`, import.meta.url).href

/** A lab that does nothing but slow the service on its host, on its core or as a process. */
const DOSING = `
  import { openDatabase } from '${urlOf('sql/database.js')}'
  import { openHost } from '${urlOf('load/system/ssh/host.js')}'
  import { openSsh } from '${urlOf('load/targets/ssh.js')}'
  import { openDosing } from '${urlOf('load/verdict/dose/dosing.js')}'
  const [, name, config, url, log, onCore] = process.argv
  const { url: databaseUrl } = await openDatabase(url)
  const { signal } = new AbortController()
  const host = await openHost({ host: name, config, port: 3000, address: null }, { signal, note: () => {}, logFile: log })
  const { cores } = await openSsh({ host, databaseUrl, env: {}, cores: host.cores?.api ?? null, logFile: log })
  const suspect = { name: 'service', host, cores: onCore ? cores : undefined }
  const dosing = await openDosing([suspect], signal)
  await dosing.run([{ suspect: 'service', share: 0.5, isDosed: true }], 600)`

/** More trials than a run comes to before it is cut, however late that is. */
const RATES = Array(6).fill(100)

/** By all labs, in whatever schema. */
const INSERTED = 'SELECT coalesce(sum(n_tup_ins), 0)::int AS inserted FROM pg_stat_user_tables'

t.test('when the line to the host is cut', { skip: withoutHosts() ?? withoutSshd() ?? false, jobs: 2 }, async (t) => {
  const folder = temporaryFolder(t)
  const hosts = await openHosts(t, ['box', 'wired', 'database', 'another'])
  const [box, wired, { url }, another] = await Promise.all([
    startBox(hosts.box),
    startBox(hosts.wired),
    startPostgres(hosts.database),
    startPostgres(hosts.another),
  ])

  /** @param {any} t @param {Box} host @param {string} databaseUrl @param {string} name */
  async function start(t, host, databaseUrl, name) {
    const out = `${folder}/${name}`
    const argv = [...host.flags, '--database-url', databaseUrl, '--rates', RATES.join(), '--out', out]
    // Who is killed leaves the folder of his socket.
    const lab = runSweep(argv, { TMPDIR: folder })
    await lab.stderrHas('trial 1:')
    t.equal(ourProcesses(host).length, 2, 'our agent and the API')
    return { lab, out }
  }

  t.test('by a program', async (t) => {
    await t.test('Ctrl-C while npm brings the packages: nothing goes on there, and nothing is kept', async (t) => {
      // Without packages and without a way to a registry, npm goes on trying for a minute.
      const [installed, npmrc] = ['.cache/redline', '.npmrc'].map((name) => path.join(box.folder, 'root', name))
      for (const one of [installed, npmrc]) fs.renameSync(one, `${one}-away`)
      const lab = runSweep([...box.flags, '--database-url', url, '--rates', '100', '--out', `${folder}/npm`])
      await untilRunning(box, /^npm ci/)
      lab.child.kill('SIGINT')
      t.equal((await lab.ended).code, 130)
      await untilNothingRuns(box)
      t.equal(await box.run(['ls', '/root/.cache/redline']), '')
      fs.rmSync(installed, { recursive: true })
      for (const one of [installed, npmrc]) fs.renameSync(`${one}-away`, one)
    })

    await t.test('ssh dies: nothing runs there, the run says so and goes on by --resume', async (t) => {
      const { lab, out } = await start(t, box, url, 'master')
      process.kill(masterOf(lab.child.pid), 'SIGKILL')
      await untilNothingRuns(box)
      const { code, stderr } = await lab.ended
      t.equal(code, 1)
      t.match(stderr, /no trustworthy answer: the run broke off: the connection to root@\S+ was lost/)
      const resumed = await startLab(['sweep', '--resume', out, '--database-url', url]).ended
      t.equal(resumed.code, 0, resumed.stderr)
      t.equal(readTrials(out).length, RATES.length)
    })

    await t.test('the API dies there: the run ends with its last words', async (t) => {
      const { lab, out } = await start(t, box, url, 'dies')
      const api = box.processes().find(({ command }) => /api\/server\.js/.test(command))
      await box.run(['kill', '-KILL', String(api?.pid)])
      const { code, stderr } = await lab.ended
      t.equal(code, 1)
      t.match(stderr, /the run broke off: the API ended unexpectedly \(SIGKILL\); its last output: .*"listening"/)
      t.equal(fs.readFileSync(`${out}/api.log`, 'utf8').match(/"listening"/g)?.length, 1, 'its log came back once')
      t.strictSame(ourProcesses(box), [])
    })

    await t.test('the lab is killed: nothing runs there, and no ssh here', async (t) => {
      const { lab } = await start(t, box, url, 'killed')
      const master = masterOf(lab.child.pid)
      lab.child.kill('SIGKILL')
      await lab.ended
      await untilNothingRuns(box)
      await until('the ssh of the lab to end', () => !fs.existsSync(`/proc/${master}`))
      t.strictSame(fs.readdirSync(`${box.folder}/tmp`), [], 'and no folder is left there')
    })

    await t.test(
      'a lab that slows the service there is killed, or its ssh is: nothing burns or stays stopped',
      async (t) => {
        for (const [onCore, kill] of /** @type {[string, (lab: ChildProcess) => void][]} */ ([
          ['core', (lab) => lab.kill('SIGKILL')],
          ['', (lab) => lab.kill('SIGKILL')],
          ['core', (lab) => process.kill(masterOf(lab.pid), 'SIGKILL')],
        ])) {
          const argv = [box.user, box.configFile, url, `${folder}/dosing.log`, onCore]
          const lab = spawn(process.execPath, ['--input-type=module', '-e', DOSING, ...argv], {
            stdio: ['ignore', 'ignore', 'inherit'],
          })
          t.teardown(() => lab.kill('SIGKILL'))
          const isDosed = onCore ? async () => (await burnt_s(box)) > 1 : () => isApiStopped(box)
          await until('a dose there', isDosed, 60_000)
          t.equal(ourProcesses(box).length, 3, 'our agent, the API and the helper')
          kill(lab)
          await untilNothingRuns(box)
        }
      },
    )

    await t.test('Ctrl-C: the answer so far, and nothing runs there', async (t) => {
      const { lab, out } = await start(t, box, url, 'interrupted')
      lab.child.kill('SIGINT')
      const { code, stderr } = await lab.ended
      t.equal(code, 130, stderr)
      t.match(readRun(out), { interrupted: true, capacity: { low_rps: 100 } })
      t.strictSame(ourProcesses(box), [])
    })

    await t.test('Ctrl-C in the middle of a trial: it is not waited for', async (t) => {
      const [TRIAL_S, DEADLINE_MS] = [120, 60_000]
      const out = `${folder}/amid`
      const argv = [...box.flags, '--database-url', url, '--rates', '100', '--duration', `${TRIAL_S}s`, '--out', out]
      const [{ inserted: before }] = await rows(url, INSERTED)
      const lab = startLab(['sweep', ...argv], {}, { deadline_ms: DEADLINE_MS })
      await until('rows', async () => (await rows(url, INSERTED))[0].inserted > before, DEADLINE_MS)
      lab.child.kill('SIGINT')
      t.equal((await lab.ended).code, 130)
      t.strictSame(ourProcesses(box), [])
    })

    await t.test('Ctrl-C while the API waits there for its database: before it gives up, 10 s later', async (t) => {
      await box.run(['ip', 'route', 'add', 'blackhole', `${hosts.database.address}/32`])
      const lab = runSweep([...box.flags, '--database-url', url, '--rates', '100', '--out', `${folder}/waits`])
      await untilRunning(box, /api\/server\.js/)
      const took_ms = startOwnClock(t)
      lab.child.kill('SIGINT')
      t.equal((await lab.ended).code, 130)
      const waited_ms = took_ms()
      t.ok(waited_ms < 7000, `it took ${waited_ms} ms`)
      await untilNothingRuns(box)
    })
  })

  t.test('the wire is pulled out: each side notices by itself', async (t) => {
    const { lab } = await start(t, wired, another.url, 'wire')
    await wired.wire('down')
    await untilNothingRuns(wired)
    const { code, stderr } = await lab.ended
    t.equal(code, 1)
    t.match(stderr, /the run broke off: the connection to root@\S+ was lost/)
  })
})

/** @param {Pick<Box, 'name' | 'processes'>} box @param {RegExp} command */
function untilRunning(box, command) {
  const isRunning = () => box.processes().some((one) => command.test(one.command))
  return until(`${command} to run on ${box.name}`, isRunning, 60_000)
}

/** CPU time of the helper that slows a core there. @param {Box} box */
async function burnt_s(box) {
  const fields = await statOf(box, /dose\/helper\.js/)
  return (Number(fields?.[11]) + Number(fields?.[12])) / 100
}

/** @param {Box} box */
async function isApiStopped(box) {
  return (await statOf(box, /api\/server\.js/))?.[0] === 'T'
}

/** The fields of /proc/PID/stat from the third on. @param {Box} box @param {RegExp} command */
async function statOf(box, command) {
  const pid = box.processes().find((one) => command.test(one.command))?.pid
  const text = pid ? await box.run(['cat', `/proc/${pid}/stat`]).catch(() => null) : null
  return text?.replace(/^.*\) /s, '').split(' ')
}

/** The ssh of a lab that holds the connection. @param {number | undefined} lab */
function masterOf(lab) {
  const { stdout } = spawnSync('pgrep', ['-P', String(lab), '-f', 'ControlPersist=no'], { encoding: 'utf8' })
  const pid = Number(stdout.trim().split('\n')[0])
  // A signal to 0 would end the tests themselves.
  if (!(pid > 1)) throw new Error(`expected an ssh of the lab ${lab}, found none`)
  return pid
}
