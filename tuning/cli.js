import { main } from '../load/verb.js'
import { bench } from './bench/bench.js'

process.exitCode = await main({ bench }, process.argv.slice(2))
