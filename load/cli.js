import { main } from './run/shell.js'
import { doctor } from './verbs/doctor.js'
import { sweep } from './verbs/sweep/sweep.js'

process.exitCode = await main({ sweep, doctor }, process.argv.slice(2))
