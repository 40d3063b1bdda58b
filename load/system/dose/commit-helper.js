import { createInterface } from 'node:readline'
import { delayCommits, markDelays, undelayCommits } from '../../../sql/commit-delay.js'
import { connect, end } from '../../../sql/connection.js'

/**
 * The process that slows commits, since a setting of Postgres must not outlive the lab. Each line of stdin is a command, which a line of
 * stdout answers when it is done: { url } of the database comes first, then each { delay_us } replaces the one before. When stdin
 * ends, nothing is delayed any more.
 */

const lines = createInterface(process.stdin)
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => lines.close())

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
