import t from 'tap'
import { balance } from '../../../tuning/experiments/balance/balance.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

// Not a unit test: the plan asks for HAProxy's version.
for (const one of casesOf([balance])) t.test(one.name, (t) => checkCase(t, one))
