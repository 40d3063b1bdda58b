import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { watchPostgres } from '../../../load/probes/postgres.js'
import { statFields } from '../../../load/probes/process.js'
import { countedDoses, pauseOf, startCommitDoser } from '../../../load/system/dose/commit.js'
import { LEAD_S, openDosing } from '../../../load/verdict/dose/dosing.js'
import { suspectsIn } from '../../../load/verdict/dose/suspects.js'
import { openDatabase } from '../../../sql/database.js'
import { rows } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const withoutProc = statFields('self') ? false : 'this system has no /proc'
const moduleAt = (/** @type {string} */ file) => new URL(`../../../${file}`, import.meta.url).href
const TRAFFIC = { sent: 0, completed: 0, lateness_ms: null }
const never = new AbortController().signal

/** Half of a log that is flushed every 20 ms: each flush takes 20 ms longer. */
const SUSPECT = { suspect: 'the commit', resource: 'postgres-commit', flush_us: 20_000 }
const DOSED = { ...SUSPECT, isDosed: true, share: 0.5 }
const UNDOSED = { ...SUSPECT, isDosed: false, share: 0 }
const { delay_us } = pauseOf(DOSED.share, SUSPECT.flush_us)

/** A server that flushes its log to disk. */
const server = await newServer(t)

/** What a server that starts again would set, and the mark on the database. */
async function left() {
  const [found] = await rows(
    server.url,
    `SELECT ARRAY(SELECT name || '=' || setting FROM pg_file_settings
        WHERE sourcefile LIKE '%auto.conf' AND name LIKE 'commit%' ORDER BY name) AS settings,
      EXISTS (SELECT FROM pg_db_role_setting WHERE 'redline.delays_commits=true' = ANY (setconfig)) AS is_marked`,
  )
  return found
}
const NOTHING = { settings: [], is_marked: false }

/** Whether new sessions have this delay: the server reads its settings a moment after it was told to. @param {number} wanted_us */
async function hasDelay(wanted_us) {
  const [{ setting }] = await rows(server.url, "SELECT current_setting('commit_delay', true) AS setting")
  return Number.parseInt(setting, 10) === wanted_us
}
const begun = () => until('the dose to begin', () => hasDelay(delay_us))

/** A database of the lab's, and dosing of its commits. @param {any} t @param {AbortSignal} [signal] */
async function dosingOf(t, signal = never) {
  const database = await openDatabase(server.url)
  t.teardown(() => database.close())
  const suspects = await suspectsIn([DOSED, UNDOSED], { target: { pid: null }, generator: { pid: 0 }, database })
  const dosing = await openDosing(suspects, signal)
  t.teardown(dosing.close)
  return { database, dosing }
}

/** The helpers that a process has started. @param {number} parent */
function helpersOf(parent) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    const isChild = Number(statFields(pid)?.[1]) === parent
    return isChild && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('commit-helper.js')
  })
}

/** A lab of its own that takes a long dose, from when it has begun. @param {any} t */
async function otherLab(t) {
  const lab = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `import { openDatabase } from '${moduleAt('sql/database.js')}'
    import { openDosing } from '${moduleAt('load/verdict/dose/dosing.js')}'
    const database = await openDatabase('${server.url}')
    const dosing = await openDosing([{ name: 'the commit', flush_us: 20000, database }], new AbortController().signal)
    await dosing.run([${JSON.stringify(DOSED)}], 60)`,
  ])
  t.teardown(() => lab.kill('SIGKILL'))
  await begun()
  const [helper] = helpersOf(Number(lab.pid))
  return { lab, helper: Number(helper) }
}

t.test('a dose makes every flush late, and ends with nothing left', async (t) => {
  const database = await openDatabase(server.url)
  t.teardown(() => database.close())
  const doser = await startCommitDoser({ ...SUSPECT, database })
  t.teardown(doser.close)
  t.same(await left(), { ...NOTHING, is_marked: true }, 'nothing is set before the first dose')
  const probe = await watchPostgres(database)
  await doser.begin(DOSED.share)
  await begun()
  const start_ms = performance.now()
  await rows(server.url, "INSERT INTO users (email, password) VALUES ('a@b', 'c')")
  t.ok(performance.now() - start_ms >= delay_us / 1000, 'a commit takes at least as long as the delay')
  t.equal(await doser.end(), DOSED.share)
  t.same(await left(), { ...NOTHING, is_marked: true }, 'an undosed slice has no delay')
  await doser.close()
  t.same(await left(), NOTHING)
  await until('the former delay', () => hasDelay(0))
  const found = await probe?.end()(TRAFFIC)
  t.ok(found?.wal_flushes >= 1, `${found?.wal_flushes} flushes`)
  t.equal(found?.commit_problem, null)
})

t.test('a dose is measured by the flushes that were counted', async (t) => {
  const { dosing } = await dosingOf(t)
  const doses = await dosing.run([DOSED, UNDOSED], LEAD_S + 0.1)
  const ratios = (/** @type {typeof doses} */ of) => of.map(({ taken_ratio }) => taken_ratio.toFixed(2))
  t.strictSame(ratios(doses), ['0.50', '0.00'], 'expected, at a flush every 20 ms')
  t.strictSame(ratios(countedDoses(doses, 50, 2)), ['0.33', '0.00'], 'counted, at a flush every 40 ms')
})

t.test('an interrupted dose ends and leaves nothing', async (t) => {
  const interrupted = new AbortController()
  const { dosing } = await dosingOf(t, interrupted.signal)
  const running = dosing.run([DOSED], 60)
  await begun()
  interrupted.abort(new Error('Ctrl-C'))
  await t.rejects(running, { name: 'AbortError' })
  await dosing.close()
  t.same(await left(), NOTHING)
})

t.test('a helper that is killed is reported, and the lab takes its delay back', { skip: withoutProc }, async (t) => {
  const database = await openDatabase(server.url)
  t.teardown(() => database.close())
  const doser = await startCommitDoser({ ...SUSPECT, database })
  t.teardown(doser.close)
  await doser.begin(DOSED.share)
  const [helper] = helpersOf(process.pid)
  process.kill(Number(helper), 'SIGKILL')
  await t.rejects(doser.end(), /the process that takes the dose ended \(SIGKILL\)/)
  await doser.close()
  t.same(await left(), NOTHING)
})

t.test('a lab that dies while its helper slows commits leaves nothing', async (t) => {
  const helper = spawn(process.execPath, ['load/system/dose/commit-helper.js'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => helper.kill('SIGKILL'))
  const exited = once(helper, 'exit')
  helper.stdin.write(`${JSON.stringify({ url: server.url })}\n`)
  await once(helper.stdout, 'data')
  // From here on, nobody reads the confirmations.
  helper.stdout.destroy()
  await once(helper.stdout, 'close')
  helper.stdin.end(`${JSON.stringify({ delay_us })}\n`)
  t.strictSame(await exited, [0, null])
  t.strictSame(await left(), NOTHING)
})

t.test('kill -9 of the lab ends the dose, and leaves nothing', { skip: withoutProc }, async (t) => {
  const { lab } = await otherLab(t)
  lab.kill('SIGKILL')
  await until('the helper to take its delay back', async () => !(await left()).is_marked)
  t.same(await left(), NOTHING)
})

t.test(
  'what a lab and its helper leave when both are killed, the next run takes back',
  { skip: withoutProc },
  async (t) => {
    const { lab, helper } = await otherLab(t)
    // Stopped, it cannot do so itself.
    process.kill(Number(lab.pid), 'SIGSTOP')
    process.kill(helper, 'SIGKILL')
    const exited = once(lab, 'exit')
    lab.kill('SIGKILL')
    await exited
    t.same((await left()).settings.length, 2, 'the delay outlives both')
    const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'redline-lab'"
    await until('their sessions to end', async () => (await rows(server.url, sessions)).length === 0)
    const database = await openDatabase(server.url)
    t.match(database.warnings.join(), /a run that was killed had left commit_delay and commit_siblings set/)
    t.same(await left(), NOTHING)
    await until('the former delay', () => hasDelay(0))
    await database.close()
  },
)

t.test("a delay that is not the lab's stays, and keeps commits from being slowed", async (t) => {
  for (const change of ['SET commit_delay = 10', 'SET commit_siblings = 0'])
    await rows(server.url, `ALTER SYSTEM ${change}`)
  await rows(server.url, 'SELECT pg_reload_conf()')
  await until('the settings', () => hasDelay(10))
  const database = await openDatabase(server.url)
  t.teardown(() => database.close())
  t.notMatch(database.warnings.join(), /commit_delay/)
  t.strictSame((await left()).settings, ['commit_delay=10', 'commit_siblings=0'])
  const probe = await watchPostgres(database)
  const found = await probe?.end()(TRAFFIC)
  t.equal(found?.commit_problem, 'commit_delay or commit_siblings is set already')
})
