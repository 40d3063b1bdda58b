import { main } from '../load/verb.js'
import { bench } from './bench/bench.js'
import { overload } from './overload.js'

process.exitCode = await main({ bench, overload }, process.argv.slice(2))
