import t from 'tap'
import { balance } from '../../../tuning/experiments/balance/balance.js'
import { processes } from '../../../tuning/experiments/processes/processes.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

// Not a unit test: their plans ask for HAProxy's version.
for (const one of casesOf([balance, processes])) t.test(one.name, (t) => checkCase(t, one))
