import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { applySchema, DatabaseError } from './database.js'
import { startEmbedded } from './embedded.js'
import { abortOnSignals } from './signals.js'

const HELP = `npm run database

Starts a real Postgres of its own with the schema applied, prints its DATABASE_URL, and stops it on Ctrl-C.
With DATABASE_URL set, it applies the schema there and ends, warns of a table whose ids are integers, and empties nothing.

Example:
  npm run --silent database        in one terminal: prints postgres://redline:…@127.0.0.1:PORT/postgres
  DATABASE_URL=postgres://… npm start        in another
`

const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 }

process.exitCode = await main()

async function main() {
  const signal = abortOnSignals(EXIT.interrupted)
  try {
    const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
    if (values.help) process.stdout.write(HELP)
    else if (process.env.DATABASE_URL) {
      const { version, warnings } = await applySchema(process.env.DATABASE_URL)
      for (const warning of warnings) process.stderr.write(`redline: ${warning}\n`)
      process.stderr.write(`schema applied to Postgres ${version}\n`)
    } else await serve(signal)
    return signal.aborted ? EXIT.interrupted : EXIT.done
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted
    const { message, code } = /** @type {Error & { code?: string }} */ (error)
    process.stderr.write(`redline: ${message}\n`)
    return error instanceof DatabaseError || code?.startsWith('ERR_PARSE_ARGS') ? EXIT.usage : EXIT.failed
  }
}

/** Until it is told to stop. @param {AbortSignal} signal @throws when Postgres ends by itself */
async function serve(signal) {
  const embedded = await startEmbedded()
  try {
    const { version } = await applySchema(embedded.url, {})
    process.stdout.write(`${embedded.url}\n`)
    process.stderr.write(`Postgres ${version} is up until Ctrl-C\n`)
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), embedded.exited()])
    if (!signal.aborted) throw new Error('Postgres ended unexpectedly')
  } finally {
    await embedded.stop()
  }
}
