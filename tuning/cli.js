import { sweep } from '../load/sweep.js'
import { main } from '../load/verb.js'
import { reportOn } from './report.js'
import { VERBS } from './verbs.js'

process.exitCode = await main({ ...VERBS, report: reportOn({ sweep, ...VERBS }) }, process.argv.slice(2))
