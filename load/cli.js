import { doctor } from './doctor.js'
import { sweep } from './sweep.js'
import { main } from './verb.js'

process.exitCode = await main({ sweep, doctor }, process.argv.slice(2))
