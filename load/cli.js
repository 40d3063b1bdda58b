import { sweep } from './sweep.js'
import { main } from './verb.js'

process.exitCode = await main({ sweep }, process.argv.slice(2))
