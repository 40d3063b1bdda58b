import assert from 'node:assert/strict'
import { installClock } from './clock.js'
import { checkAnswers } from './oracle.js'
import { createPostgres } from './postgres.js'
import { createService } from './service.js'

/**
 * @import { STORMS } from './faults.js'
 * @import { Plan } from './postgres.js'
 * @import { Exchange, Settings } from './service.js'
 */

// pg looks for its variables at every connection, and the real environment takes longer than all that is simulated of one.
process.env = { ...process.env }

/** Longer than any timeout of the service, several times over. */
const LONG_MS = 60_000

/** Enough to say goodbye to a server that answers. */
const CLOSING_MS = 20

/** A request finds out that connections have gone bad unnoticed, and has all of them replaced, at most once a second. */
const PAUSE_MS = 1000
const MAX_ROUNDS = 5

/**
 * Runs the service on a Postgres that misbehaves as planned, lets it recover, shuts it down, and checks what must hold
 * whatever happens.
 * @param {Scenario} scenario
 * @returns {Promise<Outcome>}
 * @throws {assert.AssertionError} what did not hold
 */
export async function simulate({ settings, requests, plan, storms, picks }) {
  let picked = 0
  const clock = installClock({ pick: () => picks[picked++ % picks.length] ?? 0 })
  clock.utilization = 0.5
  const onCrash = (/** @type {unknown} */ error) => void clock.crashes.push(error)
  process.on('uncaughtException', onCrash)
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
    if (clock.crashes.length > 0) throw new Error('nothing is thrown where nobody catches it')
    return { sent, counts: postgres.counts() }
  } catch (error) {
    throw clock.crashes[0] ?? error
  } finally {
    process.off('uncaughtException', onCrash)
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
  const isIdle = () => stats().idle === stats().total && postgres.open() === stats().total
  assert.ok(await clock.run(isIdle, LONG_MS), "every connection is idle, and none is open but the pool's")
  const probe = send(service, { at_ms: clock.now_ms, kind: 'ada' }, sent.length)
  sent.push(probe)
  assert.ok(await clock.run(() => isAnswered(probe), LONG_MS), 'a probe is answered')
  assert.ok(await clock.run(() => stats().total > 0 && isIdle(), CLOSING_MS), 'every connection is idle again')
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
  assert.ok(await clock.run(() => postgres.open() === 0, CLOSING_MS), 'no connection is left')
  assert.equal(service.pool.stats().total, 0, 'and none is counted')
  // pg-pool keeps the timer of a connection's lifetime until its server closes it, too.
  await clock.run(() => clock.timers() === 1, postgres.sessions.some(({ isSilent }) => isSilent) ? LONG_MS : CLOSING_MS)
  assert.equal(clock.timers(), 1, "no timer is left but the gate's")
  // What was sent before its connection broke may still be committed.
  assert.ok(await clock.run(() => clock.sleeping() === 0, LONG_MS), 'Postgres has nothing left to do')
}

/**
 * @typedef {import('./clock.js').Clock} Clock
 * @typedef {import('./postgres.js').Server} Server
 * @typedef {import('./service.js').Service} Service
 * @typedef {object} Request
 * @property {number} at_ms
 * @property {'ada' | 'bad' | 'vanish' | 'find'} kind a user that is stored, refused or suppressed; or a GET
 * @property {number} [key] requests with the same one are repeats of each other
 * @typedef {Request & Exchange & { email?: string }} Sent
 * @typedef {object} Scenario
 * @property {Partial<Settings>} settings
 * @property {Request[]} requests
 * @property {Plan} plan
 * @property {{ at_ms: number, kind: (typeof STORMS)[number] }[]} storms
 * @property {number[]} picks see installClock
 * @typedef {{ sent: Sent[], counts: { statements: number, logins: number } }} Outcome `counts`: those that the plan was asked for
 */
