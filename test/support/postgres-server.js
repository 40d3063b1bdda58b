import { startServer } from './postgres.js'

/**
 * `node postgres-server.js SETTINGS`: an embedded Postgres with these settings, until it is killed; prints its URL. What is left of it
 * then goes with the host, whose /var/tmp is its own.
 */
const { url } = await startServer(JSON.parse(process.argv[2]), '/var/tmp')
process.stdout.write(url)
