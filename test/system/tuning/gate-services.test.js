import fs from 'node:fs'
import t from 'tap'
import { main } from '../../../load/run/shell.js'
import { gate } from '../../../tuning/experiments/gate/gate.js'
import { openService } from '../../../tuning/experiments/gate/services.js'
import { temporaryFolder } from '../../support/lab.js'
import { created, httpServer, refusingUrl } from '../../support/servers.js'
import { createShell } from '../../support/shell.js'

t.test('a gate of running services, one of which does not answer, is refused before its first trial', async (t) => {
  const [up, down, out] = [await httpServer(t, created), await refusingUrl(t), `${temporaryFolder(t)}/run`]
  for (const [side, base, head] of [
    ['base', down, up],
    ['head', up, down],
  ]) {
    // It ends by itself; the limit is for a gate that begins to measure.
    const shell = createShell({ signal: AbortSignal.timeout(20_000) })
    const code = await main({ gate }, ['gate', '--url-base', base, '--url-head', head, '--out', out], shell)
    t.equal(code, 2, shell.said.stderr)
    t.match(
      shell.said.stderr,
      `redline: --url-${side}: expected a service that answers at ${down}, got ECONNREFUSED: start it, or correct the URL\n`,
    )
    t.notOk(fs.existsSync(out), 'nothing is left')
  }
})

t.test('a service that has ended is not refused in a later block of a gate', async (t) => {
  const url = await refusingUrl(t)
  const plan = /** @type {any} */ ({ sides: { base: { url }, head: { url } }, mix: { seed: 1 }, timeout_s: 1 })
  t.equal((await openService({ side: 'head', start: 2 }, /** @type {any} */ ({}), plan, undefined)).url, url)
})
