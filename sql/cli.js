import { parseArgs } from 'node:util'
import { DatabaseError, openDatabase } from './database.js'
import { startEmbedded } from './embedded.js'

const HELP = `npm run database

Starts a real Postgres of its own with the schema applied, prints its DATABASE_URL, and stops it on Ctrl-C.
With DATABASE_URL set, it applies the schema there and ends.

Example:
  npm run --silent database        in one terminal: prints postgres://redline:…@127.0.0.1:PORT/postgres
  DATABASE_URL=postgres://… npm start        in another
`

await main()

async function main() {
  try {
    const { values } = parseArgs({ options: { help: { type: 'boolean' } } })
    if (values.help) return void process.stdout.write(HELP)
    await serve()
  } catch (error) {
    const { message, code } = /** @type {Error & { code?: string }} */ (error)
    process.stderr.write(`redline: ${message}\n`)
    process.exitCode = error instanceof DatabaseError || code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
  }
}

async function serve() {
  const stopped = new Promise((resolve) => {
    process.once('SIGINT', () => resolve(130))
    process.once('SIGTERM', () => resolve(0))
  })
  const given = process.env.DATABASE_URL
  if (given) return process.stderr.write(`schema applied to Postgres ${await applySchema(given)}\n`)

  const embedded = await startEmbedded()
  try {
    const version = await applySchema(embedded.url)
    process.stdout.write(`${embedded.url}\n`)
    process.stderr.write(`Postgres ${version} is up until Ctrl-C\n`)
    process.exitCode = await stopped
  } finally {
    await embedded.stop()
  }
}

/** Opening applies the schema; closing again leaves the database free for a lab. @param {string} url */
async function applySchema(url) {
  const database = await openDatabase(url)
  await database.close()
  return database.version
}
