import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { refuseSwallowed } from '../../../../load/command/swallowed.js'
import { PLAN_FLAGS } from '../../../../load/run/plan.js'
import { caught } from '../../../support/caught.js'

t.test('a flag that npm took for itself is refused, with the command to write', async (t) => {
  const rows = /** @type {[Record<string, string>, string][]} */ ([
    [{ npm_config_url: 'http://127.0.0.1:8090/', npm_config_cache: '/root/.npm' }, 'url'],
    [{ npm_config_quick: 'true' }, 'quick'],
    [{ npm_config_slo_p99: '5ms' }, 'slo-p99'],
    [{ npm_config_proof: '' }, 'no-proof'],
  ])
  for (const [taken, name] of rows) {
    const error = caught(() => refuseSwallowed('sweep', PLAN_FLAGS, [], { npm_lifecycle_event: 'sweep', ...taken }))
    t.type(error, UsageError, name)
    t.equal(error.message, `npm took --${name} for itself: write npm run sweep -- --${name} …`)
  }
})

t.test("npm's own settings, other scripts and flags that were given are no swallowed flags", async (t) => {
  const flags = { ...PLAN_FLAGS, json: { value: '', about: '' } }
  const url = { npm_config_url: 'http://a.test/' }
  const rows = /** @type {[Record<string, string>, string[]][]} */ ([
    [{ npm_lifecycle_event: 'sweep', npm_config_json: 'true', npm_config_yes: '' }, []],
    [{ npm_lifecycle_event: 'test', ...url }, []],
    [url, []],
    [{ npm_lifecycle_event: 'sweep', ...url }, ['--url', 'http://b.test/']],
    [{ npm_lifecycle_event: 'sweep', ...url }, ['--url=http://b.test/']],
  ])
  for (const [env, argv] of rows) t.doesNotThrow(() => refuseSwallowed('sweep', flags, argv, env))
})
