import t from 'tap'
import { ablate } from '../../../tuning/experiments/ablate/ablate.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

for (const one of casesOf([ablate])) t.test(one.name, (t) => checkCase(t, one))
