import { bundle } from '../support/bundle.js'

// The simulation replaces the timers of its process.
await bundle('test/unit/api', { without: ['simulation.test.js'] })
