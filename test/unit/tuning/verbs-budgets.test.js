import t from 'tap'
import { ablate } from '../../../tuning/experiments/ablate/ablate.js'
import { gate } from '../../../tuning/experiments/gate/gate.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

for (const one of casesOf([ablate, gate])) t.test(one.name, (t) => checkCase(t, one))
