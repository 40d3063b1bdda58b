import { startEmbedded } from '../../sql/embedded.js'

/** `node postgres-server.js SETTINGS`: an embedded Postgres with these settings, until it is killed; prints its URL. */
const { url } = await startEmbedded({ settings: JSON.parse(process.argv[2]) })
process.stdout.write(url)
