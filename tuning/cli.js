import { main } from '../load/run/shell.js'
import { sweep } from '../load/verbs/sweep/sweep.js'
import { reportOn } from './pages/report/report.js'
import { VERBS } from './verbs.js'

process.exitCode = await main({ ...VERBS, report: reportOn({ sweep, ...VERBS }) }, process.argv.slice(2))
