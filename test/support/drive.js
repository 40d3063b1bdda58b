import { DRIVERS } from '../../load/generators/drivers/index.js'
import { loadOnce } from './load.js'
import { created, httpServer } from './servers.js'

/**
 * A program for tests that need a generator under limits: `node drive.js DRIVER URL|here OPTIONS` puts load on the URL,
 * or on a server of its own that takes 200 ms, and prints what came of it.
 */
const [driver, where, options] = process.argv.slice(2)
const slow = (/** @type {any} */ req, /** @type {any} */ res) => setTimeout(created, 200, req, res)
const url = where === 'here' ? await httpServer({ teardown() {} }, slow) : where
const traffic = await loadOnce(DRIVERS[driver].name, url, JSON.parse(options))
process.stdout.write(JSON.stringify(traffic))
process.exit()
