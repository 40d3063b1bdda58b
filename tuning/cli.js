import { main } from '../load/verb.js'
import { bench } from './bench/bench.js'
import { faults } from './faults.js'
import { overload } from './overload.js'
import { soak } from './soak.js'

process.exitCode = await main({ bench, faults, overload, soak }, process.argv.slice(2))
