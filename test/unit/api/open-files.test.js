import t from 'tap'
import { ConfigError } from '../../../api/config.js'
import { clientConnections } from '../../../api/open-files.js'
import { caught } from '../../support/caught.js'

const config = { maxConnections: 10_000, poolMax: 20, pipelineConnections: 10 }

/** @type {string[]} */
const warnings = []
const log = /** @type {any} */ ({ warn: (/** @type {string} */ text) => void warnings.push(text) })

t.test('clients get the files that the database leaves them', async (t) => {
  t.equal(clientConnections(config, log, Number.POSITIVE_INFINITY), 10_000)
  t.equal(clientConnections(config, log, 1024), 946)
  t.equal(clientConnections(config, log, 79), 1)
  t.strictSame(warnings, [])
})

t.test('a pool that leaves clients a single file is warned of', async (t) => {
  t.equal(clientConnections(config, log, 64), 1)
  t.strictSame(warnings, [
    'POOL_MAX=20 and PIPELINE_CONNECTIONS=10 leave clients one of the 64 files that may be open: lower them, or raise the limit (ulimit -Hn)',
  ])
})

t.test('a pool larger than the limit on open files stops the start with one line', async (t) => {
  const error = caught(() => clientConnections({ ...config, poolMax: 2000 }, log, 1024))
  t.type(error, ConfigError)
  t.equal(
    error.message,
    'POOL_MAX: expected fewer than the 1024 files that may be open, got 2000: lower it, or raise the limit (ulimit -Hn)',
  )
})
