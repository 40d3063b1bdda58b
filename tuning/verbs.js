import { ablate } from './ablate.js'
import { balance } from './balance.js'
import { bench } from './bench/bench.js'
import { compare } from './compare.js'
import { faults } from './faults.js'
import { overload } from './overload.js'
import { playbook } from './playbook.js'
import { ramp } from './ramp.js'
import { soak } from './soak.js'
import { tune } from './tune.js'
import { workshop } from './workshop.js'

/** Everything here that measures. */
export const VERBS = { ablate, balance, bench, compare, faults, overload, playbook, ramp, soak, tune, workshop }
