import { createInterface } from 'node:readline'
import { delayCommits, markDelays, undelayCommits } from '../../../sql/commit-delay.js'
import { connect, end } from '../../../sql/connection.js'

/**
 * Process that slows commits, since its Postgres setting must not outlive the lab. Each line of stdin is a command, and a line of
 * stdout confirms it: { url } of the database comes first, then each { delay_us } replaces the previous one. When stdin ends, so
 * does the delay.
 */

const lines = createInterface(process.stdin)
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => lines.close())
// A lab that has died reads no confirmation, and must not end this process before the delay has ended.
process.stdout.on('error', () => {})

/** @type {Awaited<ReturnType<typeof connect>> | undefined} */
let client
const query = async (/** @type {string} */ text) => (await client?.query(text))?.rows ?? []

try {
  for await (const line of lines) {
    const { url, delay_us } = JSON.parse(line)
    if (url) {
      client = await connect(url)
      await markDelays(query)
    } else await delayCommits(query, delay_us)
    process.stdout.write('{}\n')
  }
} finally {
  if (client) {
    await undelayCommits(query)
    await end(client)
  }
}
