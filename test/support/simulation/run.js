import assert from 'node:assert/strict'
import { installClock } from './clock.js'
import { checkAnswers } from './oracle.js'
import { createPostgres } from './postgres.js'
import { createService } from './service.js'

/** Longer than any timeout of the service, several times over. */
const LONG_MS = 60_000

/** A request finds out that connections have gone bad unnoticed, and has all of them replaced, at most once a second. */
const PAUSE_MS = 1000
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
    await clock.run(() => false, Math.max(0, ...[...requests, ...storms].map(({ at_ms }) => at_ms)))
    assert.ok(await clock.run(() => sent.every(isAnswered), LONG_MS), 'every request is answered')
    postgres.calm()
    await checkRecovery({ clock, postgres, service, sent })
    await checkEnd({ clock, postgres, service })
    checkAnswers(sent, postgres)
    assert.deepEqual(clock.crashes, [], 'nothing is thrown where nobody catches it')
    return { sent, counts: postgres.counts() }
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

/** @param {Sent} request */
const isAnswered = ({ answers }) => answers.length > 0

/** @param {{ clock: Clock, postgres: Server, service: Service, sent: Sent[] }} parts */
async function checkRecovery({ clock, postgres, service, sent }) {
  let rounds = 0
  for (let statuses = [0]; statuses.some((status) => status !== 201); ) {
    assert.ok(rounds++ < MAX_ROUNDS, `the service recovers: ${statuses}`)
    await clock.run(() => false, PAUSE_MS)
    const probes = [0, 1, 2].map((i) => send(service, { at_ms: clock.now_ms, kind: 'ada' }, sent.length + i))
    sent.push(...probes)
    assert.ok(await clock.run(() => probes.every(isAnswered), LONG_MS), 'a probe is answered')
    statuses = probes.map(({ answers: [{ status }] }) => status)
  }
  const { stats } = service.pool
  await clock.run(() => stats().idle === stats().total && postgres.open() === stats().total, LONG_MS)
  const { total, idle } = stats()
  assert.equal(idle, total, 'every connection is idle')
  assert.equal(postgres.open(), total, "no connection is open but the pool's")
  assert.equal(service.app.stats.inFlight, 0, 'no request is in flight')
  assert.equal(service.waiting(), 0, 'nothing waits')
}

/** @param {{ clock: Clock, postgres: Server, service: Service }} parts */
async function checkEnd({ clock, postgres, service }) {
  let hasEnded = false
  service.pool.end().then(() => {
    hasEnded = true
  })
  assert.ok(await clock.run(() => hasEnded, LONG_MS), 'the pool ends')
  // What was sent before its connection broke may still be committed.
  await clock.run(() => clock.timers() === 1, LONG_MS)
  assert.equal(clock.timers(), 1, "no timer is left but the gate's")
  assert.equal(postgres.open(), 0, 'no connection is left')
  assert.equal(service.pool.stats().total, 0, 'and none is counted')
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
 * @typedef {{ sent: Sent[], counts: { statements: number, logins: number } }} Outcome `counts`: those that the plan was asked for
 */
