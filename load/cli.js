import { main } from './run/shell.js'
import { doctor } from './verbs/doctor.js'
import { setup } from './verbs/setup.js'
import { sweep } from './verbs/sweep/sweep.js'

process.exitCode = await main({ sweep, doctor, setup }, process.argv.slice(2))
