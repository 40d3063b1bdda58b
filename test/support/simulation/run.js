import assert from 'node:assert/strict'
import { installClock } from './clock.js'
import { checkAnswers } from './oracle.js'
import { createPostgres } from './postgres.js'
import { createService } from './service.js'

/** Longer than any timeout of the service, several times over. */
const LONG_MS = 60_000

/** Enough for any statement or timeout to end. */
const SETTLE_MS = 7000

/** One request finds out that connections have gone bad unnoticed, and has them replaced. At most once a second. */
const MAX_ROUNDS = 5

/**
 * Runs the service on a Postgres that misbehaves as planned, lets it recover, shuts it down, and checks what must hold
 * whatever happens.
 *
 * @param {Scenario} scenario
 * @returns {Promise<Outcome>}
 * @throws {assert.AssertionError} what did not hold
 */
export async function simulate({ settings, requests, plan, storms, picks }) {
  let picked = 0
  const clock = installClock({ pick: () => picks[picked++ % picks.length] ?? 0 })
  clock.utilization = 0.5
  try {
    const postgres = createPostgres(clock, plan)
    const service = createService(postgres, settings)
    /** @type {Sent[]} */
    const sent = []
    for (const request of requests) setTimeout(() => sent.push(send(service, request, sent.length)), request.at_ms)
    for (const { at_ms, kind } of storms) setTimeout(() => postgres.storm(kind), at_ms)

    const areAnswered = () => sent.length === requests.length && sent.every(({ answers }) => answers.length > 0)
    assert.ok(await clock.run(areAnswered, LONG_MS), 'every request is answered')
    await clock.run(() => false, SETTLE_MS)
    postgres.calm()
    await checkRecovery({ clock, postgres, service, sent })
    await checkEnd({ clock, postgres, service })
    checkAnswers(sent, postgres)
    assert.deepEqual(clock.crashes, [], 'nothing is thrown where nobody catches it')
    return { sent, postgres, service, elapsed_ms: clock.now_ms }
  } finally {
    clock.uninstall()
  }
}

/** @param {import('./service.js').Service} service @param {Request} request @param {number} number @returns {Sent} */
function send(service, request, number) {
  if (request.kind === 'find') return { ...request, ...service.request('GET', `/user/${number}`) }
  const name = request.key === undefined ? `${request.kind}-${number}` : `key-${request.key}`
  const body = { email: `${name}@simulated`, password: 'secret' }
  const key = request.key === undefined ? undefined : String(request.key)
  // The same object, which gets its answers later.
  return Object.assign(service.request('POST', '/user', { body, key }), request, { email: body.email })
}

/** @param {{ clock: Clock, postgres: Server, service: Service, sent: Sent[] }} parts */
async function checkRecovery({ clock, postgres, service, sent }) {
  let number = sent.length
  const insertSeveral = async (/** @type {number} */ count) => {
    const probes = Array.from({ length: count }, () => send(service, { at_ms: 0, kind: 'ada' }, number++))
    sent.push(...probes)
    assert.ok(await clock.run(() => probes.every(({ answers }) => answers.length > 0), LONG_MS), 'a probe is answered')
    return probes.map(({ answers: [{ status }] }) => status)
  }
  let rounds = 0
  for (let statuses = [0]; !statuses.every((status) => status === 201); statuses = await insertSeveral(3)) {
    assert.ok(rounds++ < MAX_ROUNDS, `the service recovers: ${statuses}`)
    await clock.run(() => false, 100)
  }
  await clock.run(() => false, SETTLE_MS)
  assert.equal(service.app.stats.inFlight, 0, 'no request is in flight')
  assert.equal(service.waiting(), 0, 'nothing waits')
  const { total, idle } = service.pool.stats()
  assert.equal(idle, total, 'every connection is idle')
  assert.equal(postgres.open(), total, "no connection is open but the pool's")
}

/** @param {{ clock: Clock, postgres: Server, service: Service }} parts */
async function checkEnd({ clock, postgres, service }) {
  let hasEnded = false
  service.pool.end().then(() => {
    hasEnded = true
  })
  assert.ok(await clock.run(() => hasEnded, LONG_MS), 'the pool ends')
  await clock.run(() => false, SETTLE_MS)
  assert.equal(postgres.open(), 0, 'no connection is left')
  assert.equal(service.pool.stats().total, 0, 'and none is counted')
  assert.equal(clock.timers(), 1, "no timer is left but the gate's")
}

/**
 * @typedef {import('./clock.js').Clock} Clock
 * @typedef {import('./postgres.js').Server} Server
 * @typedef {import('./service.js').Service} Service
 *
 * @typedef {object} Request
 * @property {number} at_ms
 * @property {'ada' | 'bad' | 'vanish' | 'find'} kind a user that is stored, refused or suppressed; or a GET
 * @property {number} [key] requests with the same one are repeats of each other
 *
 * @typedef {Request & import('./service.js').Exchange & { email?: string }} Sent
 *
 * @typedef {object} Scenario
 * @property {Partial<import('./service.js').Settings>} settings
 * @property {Request[]} requests
 * @property {import('./postgres.js').Plan} plan
 * @property {{ at_ms: number, kind: (typeof import('./faults.js').STORMS)[number] }[]} storms
 * @property {number[]} picks see installClock
 *
 * @typedef {{ sent: Sent[], postgres: Server, service: Service, elapsed_ms: number }} Outcome
 */
