import { register } from 'node:module'
import { startServer } from './postgres.js'

/**
 * `--import` it into `sql/cli.js`, and its Postgres starts from the data folder that `test/run.js` has initialised: a tenth of
 * the CPU time.
 */
const hook = `export async function resolve(specifier, context, next) {
  const isIt = specifier === './embedded.js' && context.parentURL?.endsWith('/sql/cli.js')
  return isIt ? { url: '${import.meta.url}', shortCircuit: true } : next(specifier, context)
}`
register(`data:text/javascript,${encodeURIComponent(hook)}`)

export const startEmbedded = () => startServer()
