import t from 'tap'
import { answerStatus, connectionsUntilRefused } from '../../support/admission.js'
import { metric, newUser, post, startApi } from '../../support/api.js'
import { blockTable } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'

const database = await newDatabase(t)

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
