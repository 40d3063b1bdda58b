import t from 'tap'
import { spoilers } from '../../../load/verdict/spoilers.js'

const LOAD = { connections: 64, rate_rps: 100 }
const PLAN = { connections: [64], driver: 'paced', fresh_connections: false, searches: false, timeout_s: 1, url: null }
const BENCH = { database: null, cores: null, hosts: {}, origin: { hosts: [] } }

/** Warnings about the accept queue of a service. @param {Record<string, string>} settings */
async function ofTheQueue(settings) {
  const io = { signal: new AbortController().signal, progress: { note: () => {} } }
  const step = /** @type {any} */ ({ load: LOAD })
  const target = /** @type {any} */ ({ settings })
  const warnings = await spoilers(
    step,
    /** @type {any} */ (PLAN),
    /** @type {any} */ (BENCH),
    target,
    /** @type {any} */ (io),
  )
  return warnings.filter((warning) => warning.startsWith('accept queue: '))
}

t.test('a service with a small backlog gets a warning, one that does not tell its backlog gets none', async (t) => {
  t.equal((await ofTheQueue({ POOL_MAX: '20', LISTEN_BACKLOG: '1' })).length, 1)
  t.strictSame(await ofTheQueue({ POOL_MAX: '20' }), [])
  t.strictSame(await ofTheQueue({}), [])
})

t.test(
  'the warning about open files counts the connections that the rate needs, not the fewer that the limit leaves',
  async (t) => {
    const io = /** @type {any} */ ({ signal: new AbortController().signal, progress: { note: () => {} } })
    const step = { load: { connections: 1, connections_needed: 50_000_000, rate_rps: 100 } }
    const [plan, site, target] = /** @type {any[]} */ ([PLAN, BENCH, { settings: {} }])
    const warnings = await spoilers(step, plan, site, target, io)
    t.ok(
      warnings.some((text) => /^open files, generator: .*50,000,0\d\d/.test(text)),
      warnings.join('\n'),
    )
  },
)
