import { installClock } from './clock.js'
import { createPostgres } from './postgres.js'
import { createService } from './service.js'

/**
 * @import { Plan } from './postgres.js'
 * @import { Settings } from './service.js'
 */

/**
 * The service on a Postgres in memory, for a test that says itself what happens. Ends with the test.
 * @param {any} t tap's
 * @param {{ settings: Partial<Settings>, plan?: Plan }} options
 */
export function simulated(t, { settings, plan = { logins: [], statements: [] } }) {
  const clock = installClock()
  t.teardown(clock.uninstall)
  clock.utilization = 0.5
  const postgres = createPostgres(clock, plan)
  const service = createService(postgres, settings)
  return {
    clock,
    plan,
    postgres,
    service,

    /** @param {string} what completes "expected …" @param {() => unknown} isSo @param {number} [limit_ms] virtual */
    async until(what, isSo, limit_ms = 60_000) {
      if (!(await clock.run(isSo, limit_ms))) throw new Error(`expected ${what} within ${limit_ms} ms`)
    },
  }
}
