import t from 'tap'
import { createUserMix } from '../../../load/generators/mix.js'
import { runTrial } from '../../../load/run/trial.js'
import { openUrl } from '../../../load/targets/index.js'
import { withBackground } from '../../../tuning/experiments/ramp/background.js'
import { created, httpServer } from '../../support/servers.js'

const PLAN = /** @type {any} */ ({
  ...{ ceiling_ms: 200, most_workers: 1000, growth: 2, close: 1.5, blocks: 8, background_rps: 0 },
  ...{ warmup_s: 0.5, duration_s: 2, mix: { name: 'create-user', seed: 1 }, prices: {} },
  ...{ sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } }, drivers: ['autocannon'], without: null },
})

t.test('the writes beside a trial end with it, and are numbered as it is', async (t) => {
  /** @type {string[]} */
  const emails = []
  const url = await httpServer(t, async (req, res) => {
    emails.push(JSON.parse(Buffer.concat(await req.toArray()).toString()).email)
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const plan = { ...PLAN, background_rps: 100, duration_s: 60, timeout_s: 5, mix: createUserMix(7) }
  for (const trial of [3, 4]) {
    const { disturb } = withBackground(openUrl(url), plan)
    const calm = await disturb?.(
      { pid: 0 },
      { phase: 'climb' },
      /** @type {any} */ ({ trial }),
      new AbortController().signal,
    )
    const beside = await calm?.()
    t.ok(beside && beside.planned > 0 && beside.planned < 1000 && beside.ok === beside.planned, JSON.stringify(beside))
  }
  t.equal(new Set(emails).size, emails.length, 'no email twice, though the side was opened again')
  t.ok(emails.some((email) => email.includes('-3-')) && emails.some((email) => email.includes('-4-')))
})

t.test('a disturbance that fails to end leaves no generator', async (t) => {
  const url = await httpServer(t, created)
  let pid = 0
  const disturb = async (/** @type {{ pid: number }} */ generator) => {
    pid = generator.pid
    return async () => {
      throw new Error('it does not end')
    }
  }
  const setup = { target: { ...openUrl(url), disturb }, database: null, slo: PLAN.slo, runId: 'x', experiment: 'x' }
  const plan = {
    trial: 1,
    driver: 'client',
    loop: 'closed',
    rate_rps: null,
    connections: 1,
    warmup_s: 0,
    duration_s: 0.1,
  }
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 7 }
  const trial = /** @type {any} */ ({ ...plan, mix, timeout_s: 5 })
  const running = runTrial({ ...setup, at: {}, cell: null }, trial, new AbortController().signal, () => {})
  await t.rejects(running, { message: 'it does not end' })
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})
