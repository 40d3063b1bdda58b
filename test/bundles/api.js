import { bundle } from '../support/bundle.js'

// The simulations replace the timers of their process, and run before tap is loaded.
await bundle('test/unit/api', { without: ['simulation.test.js', 'nth-statement.test.js'] })
