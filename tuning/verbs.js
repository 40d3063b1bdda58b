import { ablate } from './experiments/ablate/ablate.js'
import { balance } from './experiments/balance/balance.js'
import { bench } from './experiments/bench/bench.js'
import { compare } from './experiments/compare/compare.js'
import { crashTest } from './experiments/crash-test/crash-test.js'
import { faults } from './experiments/faults/faults.js'
import { gate } from './experiments/gate/gate.js'
import { generators } from './experiments/generators/generators.js'
import { overload } from './experiments/overload/overload.js'
import { playbook } from './experiments/playbook/playbook.js'
import { processes } from './experiments/processes/processes.js'
import { ramp } from './experiments/ramp/ramp.js'
import { secondOpinion } from './experiments/second-opinion/second-opinion.js'
import { simulate } from './experiments/simulate/simulate.js'
import { soak } from './experiments/soak/soak.js'
import { tune } from './experiments/tune/tune.js'
import { workshop } from './workshop/workshop.js'

/** All the verbs here that measure. */
export const VERBS = {
  ablate,
  balance,
  bench,
  compare,
  'crash-test': crashTest,
  faults,
  gate,
  generators,
  overload,
  playbook,
  processes,
  ramp,
  'second-opinion': secondOpinion,
  simulate,
  soak,
  tune,
  workshop,
}
