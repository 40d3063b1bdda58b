import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { closeService, openVariant } from '../../../tuning/experiments/ablate/service.js'
import { nameOf, STAGE_NAMES } from '../../../tuning/experiments/ablate/stages.js'
import { logged, newUser, post } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const PRELOAD = new URL('../../../tuning/experiments/ablate/inside/preload.js', import.meta.url).href

t.test('the API with each stage away does what it is said to do', async (t) => {
  const { url } = await newDatabase(t)
  const folder = temporaryFolder(t)
  const logFile = path.join(folder, 'api.log')
  const env = { ...process.env, POOL_MAX: '1' }
  const place = { databaseUrl: url, cores: null, allCores: null, env, logFile }
  const plan = { stages: STAGE_NAMES, slow_us: { log: 20 }, mix: /** @type {any} */ ({ seed: 1 }) }
  t.teardown(() => closeService(place))
  const open = (/** @type {string[]} */ ...without) => openVariant({ variant: nameOf(without) }, place, plan)
  const count = async () => Number((await rows(url, 'SELECT count(*) FROM users'))[0].count)
  const send = async (/** @type {any} */ target, /** @type {unknown} */ body = newUser()) => {
    const answer = await post(target.url, body)
    return { status: answer.status, headers: [...answer.headers.keys()], text: await answer.text() }
  }
  await rows(
    url,
    `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.password := current_setting('synchronous_commit'); RETURN NEW; END $$;
     CREATE TRIGGER tell BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION tell()`,
  )
  const lastCommit = async () => (await rows(url, 'SELECT password FROM users ORDER BY id DESC LIMIT 1'))[0].password

  const whole = await open()
  t.match(whole.settings, { WITHOUT: '', LOG_LEVEL: 'debug', INSERT_MODE: 'prepared' })
  const created = await send(whole)
  t.equal(created.status, 201)
  t.strictSame(created.headers, ['connection', 'content-length', 'content-type', 'date', 'keep-alive', 'location'])
  t.equal((await send(whole, { email: 'nobody' })).status, 400)
  t.equal(await lastCommit(), 'on')
  await logged(logFile, /"status":201,"msg":"request"/)

  t.equal((await send(await open('log'))).status, 201)
  t.notMatch(readFileSync(logFile, 'utf8'), '"msg":"request"')
  t.equal((await send(await open('validate'), { email: 'nobody', password: 'x' })).status, 201)
  t.equal((await send(await open('read-and-parse'), '{"no')).status, 201)
  t.strictSame((await send(await open('headers'))).headers, ['content-length'])
  t.equal((await send(await open('commit'))).status, 201)
  t.equal(await lastCommit(), 'off')
  t.equal((await send(await open())).status, 201)
  t.equal(await lastCommit(), 'on')

  const before = await count()
  const without = await open('database')
  t.equal(without.countsRows, false)
  t.equal((await send(without)).status, 201)
  t.equal(await count(), before)
  t.equal((await send(await open(...STAGE_NAMES), 'anything')).status, 201)
  t.equal(await count(), before)

  const noPool = await open('pool')
  const stored = await count()
  const release = await blockTable(t, url)
  const sent = Array.from({ length: 3 }, () => send(noPool))
  const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'redline-api'`
  while ((await rows(url, waiting))[0].count < 3) await new Promise((resolve) => setTimeout(resolve, 20))
  await release()
  for (const { status } of await Promise.all(sent)) t.equal(status, 201, 'three at once, with a pool of one')
  t.equal(await count(), stored + 3)
})

t.test('no variable of the environment takes a stage away', async (t) => {
  const server = fileURLToPath(new URL('../../../api/server.js', import.meta.url))
  const folder = mkdtempSync(path.join(os.tmpdir(), 'redline-ablate-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const preload = `${PRELOAD}?socket=${path.join(folder, 'orders')}&token=a-token`
  const env = { ...process.env, HOST: '127.0.0.1', NODE_OPTIONS: `--import=${preload}` }
  const { status, stderr } = spawnSync(process.execPath, [server], { env, encoding: 'utf8', timeout: 60_000 })
  t.match(
    { status, stderr },
    { status: 2, stderr: /^redline: the preload of ablate: expected the one-off token in that folder/ },
  )
  t.strictSame(readdirSync(folder), [], 'nothing listens')
})
