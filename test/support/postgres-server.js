import { startServer } from './postgres.js'

/** `node postgres-server.js SETTINGS`: an embedded Postgres with these settings, until it is killed; prints its URL. */
const { url } = await startServer(JSON.parse(process.argv[2]))
process.stdout.write(url)
