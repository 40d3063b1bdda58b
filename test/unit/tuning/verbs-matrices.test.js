import t from 'tap'
import { compare } from '../../../tuning/experiments/compare/compare.js'
import { tune } from '../../../tuning/experiments/tune/tune.js'
import { casesOf } from '../../support/simulated/cases.js'
import { checkCase } from '../../support/simulated/check.js'

for (const one of casesOf([compare, tune])) t.test(one.name, (t) => checkCase(t, one))
