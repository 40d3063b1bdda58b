import t from 'tap'
import * as VERBS from '../../../tuning/verbs.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

const { bench, faults, overload, playbook, ramp, 'second-opinion': secondOpinion, soak } = VERBS

t.test('every verb that runs trials has a case', async (t) => {
  const { workshop, ...others } = VERBS
  const withTrials = Object.entries(others).filter(([, verb]) => !('measure' in verb))
  t.ok(withTrials.length >= 10)
  for (const [name, verb] of withTrials) t.ok(casesOf([verb]).length > 0, name)
})

for (const one of casesOf([bench, faults, overload, playbook, ramp, secondOpinion, soak])) {
  t.test(one.name, (t) => checkCase(t, one))
}
