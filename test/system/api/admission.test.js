import t from 'tap'
import { admit, affordableRefusals, serviceRate } from '../../../api/admission.js'
import { answerStatus, connectionsUntilRefused } from '../../support/admission.js'
import { metric, newUser, post, startApi } from '../../support/api.js'
import { blockTable } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'

const database = await newDatabase(t)

const LIMITS = { maxQueueRequests: 100, maxQueueMs: 50, maxLoopDelayMs: 200 }
const IDLE = { waiting: 0, rate_rps: 1000, loop_delay_ms: 0, refusals: 10 }

t.test('who is let in', async (t) => {
  /** @type {[string, Partial<typeof IDLE>, object][]} */
  const cases = [
    ['nobody waits', {}, { shed: false }],
    ['50 wait at 1,000/s: 50 ms', { waiting: 50 }, { shed: false }],
    ['51 wait at 1,000/s', { waiting: 51 }, { shed: true, limit: 'queue_ms', value: 51 }],
    ['51 wait at 10,000/s', { waiting: 51, rate_rps: 10_000 }, { shed: false }],
    ['nothing gets done', { waiting: 1, rate_rps: 0 }, { shed: true, limit: 'queue_ms', value: Infinity }],
    ['nothing gets done, and nobody waits', { rate_rps: 0 }, { shed: false }],
    ['the rate is not known yet', { waiting: 99, rate_rps: Infinity }, { shed: false }],
    ['too many at any rate', { waiting: 100, rate_rps: Infinity }, { shed: true, limit: 'queue_requests', value: 100 }],
    ['the loop is late', { loop_delay_ms: 201 }, { shed: true, limit: 'loop_delay_ms', value: 201 }],
    ['no more refusals', { waiting: 99, loop_delay_ms: 900, refusals: 0 }, { shed: false }],
    [
      'no more refusals, and too many',
      { waiting: 100, refusals: 0 },
      { shed: true, limit: 'queue_requests', value: 100 },
    ],
  ]
  for (const [name, signals, decision] of cases) t.strictSame(admit({ ...IDLE, ...signals }, LIMITS), decision, name)
  const off = { ...LIMITS, maxQueueMs: 0, maxLoopDelayMs: 0 }
  t.strictSame(
    admit({ ...IDLE, waiting: 99, rate_rps: 1, loop_delay_ms: 9999 }, off),
    { shed: false },
    '0 switches off',
  )
})

t.test('the rate is what is done while somebody waits; an idle window only shows that more can be done', async (t) => {
  const window = { done: 50, seconds: 0.05, alwaysBusy: true }
  t.equal(serviceRate(Infinity, window), 1000, 'the first that is known')
  t.equal(serviceRate(Infinity, { ...window, done: 0 }), Infinity, 'a stall before anything was done tells nothing')
  t.equal(serviceRate(2000, window), 1800, 'then a fifth of the way to what was seen')
  t.equal(serviceRate(2000, { ...window, alwaysBusy: false }), 2000, 'little was asked for')
  t.equal(serviceRate(500, { ...window, alwaysBusy: false }), 1000, 'and more was done')
  t.equal(serviceRate(0, { ...window, done: 0 }), 0)
})

t.test('refusals fit into the time that was idle, and into a tenth of the rest', async (t) => {
  const full = affordableRefusals({ seconds: 0.05, utilization: 1 })
  const idle = affordableRefusals({ seconds: 0.05, utilization: 0 })
  t.equal(full, Math.floor((0.1 * 0.05) / 15e-6))
  t.ok(idle > 10 * full, `${idle} and ${full}`)
})

t.test('who would wait too long gets a 503 at once on the same connection, and is counted', async (t) => {
  for (const mode of ['single', 'pipelined', 'batched']) {
    const settings = { INSERT_MODE: mode, POOL_MAX: '1', PIPELINE_CONNECTIONS: '1', BATCH_SLOTS: '1' }
    const api = await startApi(t, database.url, { ...settings, MAX_QUEUE_REQUESTS: '5' })
    t.equal((await post(api.url, newUser())).status, 201)
    const release = await blockTable(t, database.url)
    const held = Array.from({ length: 6 }, () => post(api.url, newUser()))
    while ((await metric(api, 'redline_waiting_requests')) < 5) await new Promise((resolve) => setTimeout(resolve, 10))
    const refused = await answerStatus(api.url, 3)
    t.strictSame(refused, ['503', '503', '503'], `${mode}: one connection, three answers`)
    const answer = await post(api.url, newUser())
    t.equal(answer.headers.get('retry-after'), '1')
    t.match(await answer.json(), { code: 'overloaded' })
    t.equal(await metric(api, 'redline_shed_total{limit="queue_requests"}'), 4)
    t.equal(await metric(api, 'redline_shed_value{limit="queue_requests"}'), 5)
    t.equal(await metric(api, 'redline_problems_total{code="overloaded"}'), 4)
    await release()
    t.ok(
      (await Promise.all(held)).every(({ status }) => status === 201),
      'who was let in is served',
    )
    t.equal((await post(api.url, newUser())).status, 201, 'and so is everybody, again')
    await api.stop()
  }
})

t.test('passwords that wait to be hashed count, requests that never get to the database do not', async (t) => {
  const api = await startApi(t, database.url, { PASSWORD_STORAGE: 'scrypt', MAX_QUEUE_REQUESTS: '5' })
  const answers = await Promise.all(Array.from({ length: 40 }, () => post(api.url, newUser())))
  const statuses = answers.map(({ status }) => status)
  t.ok(statuses.includes(201) && statuses.includes(503), statuses.join(' '))
  const shed = await metric(api, 'redline_shed_total{limit="queue_requests"}')
  t.equal(statuses.filter((status) => status === 503).length, shed)
  t.equal(await metric(api, 'redline_waiting_requests'), 0)
  t.equal(await metric(api, 'redline_hashing_passwords'), 0)
})

t.test('connections beyond the limit are closed and counted, the others served', async (t) => {
  const api = await startApi(t, database.url, { MAX_CONNECTIONS: '3' })
  const { kept, refused } = await connectionsUntilRefused(t, api.url, 5)
  t.equal(kept.length, 3)
  t.equal(refused, 2)
  t.equal(await metric(api, 'redline_dropped_connections_total{limit="connections"}'), 2)
  kept[0].end()
  await new Promise((resolve) => kept[0].once('close', resolve))
  while ((await metric(api, 'redline_connections')) > 2) await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal((await post(api.url, newUser())).status, 201)
})
