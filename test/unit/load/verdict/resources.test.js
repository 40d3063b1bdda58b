import t from 'tap'
import { SETTINGS } from '../../../../api/settings.js'
import { nextChange, RESOURCES } from '../../../../load/verdict/resources.js'

t.test('what to change names settings of the API only if the service is the API', async (t) => {
  for (const resource of Object.keys(RESOURCES)) {
    const named = nextChange(resource, false).match(/[A-Z]+_[A-Z_]+/g) ?? []
    t.strictSame(
      named.filter((name) => name in SETTINGS),
      [],
      resource,
    )
    const [, change, settings = ''] = RESOURCES[resource]
    t.match(nextChange(resource, true), change)
    const unknown = settings.split(', ').filter((text) => text && !(text.split('=')[0] in SETTINGS))
    t.strictSame(unknown, [], `${resource}: settings that exist`)
  }
  t.match(nextChange('pool-size', true), /^enlarge the pool to .* \(POOL_MAX\)$/)
  t.match(nextChange('pool-size', false), /^enlarge the pool to .* holds a connection$/)
})
