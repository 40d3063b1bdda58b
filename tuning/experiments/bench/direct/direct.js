import { once } from 'node:events'
import pg from 'pg'
import { keptDatabaseUrl } from '../../../../load/command/credentials.js'
import { startGenerator } from '../../../../load/generators/drive.js'
import { trafficOf } from '../../../../load/generators/drivers/recorder.js'
import { usersOf } from '../../../../load/generators/mix.js'
import { SATURATION_CONNECTIONS } from '../tables.js'
import { pgbench, pgbenchVersion } from './pgbench.js'

/**
 * @import { NotApplied } from '../../../../load/command/errors.js'
 * @import { Driver } from '../../../../load/generators/drivers/index.js'
 * @import { Place } from '../../../../load/run/site.js'
 * @import { Target } from '../../../../load/targets/index.js'
 */

/**
 * One row per connection of the closed loop, which is the most that can share a statement of the API; and enough rows to make the
 * cost of commits and round trips negligible.
 */
export const ROWS_PER_COMMIT = { copy: SATURATION_CONNECTIONS, 'copy-bulk': 10_000 }

/** Drivers that load the database without a service in front of it; the generator's process imports them from here. */
export const DRIVERS = {
  pgbench,
  ...Object.fromEntries(Object.entries(ROWS_PER_COMMIT).map(([name, rows]) => [name, copyIn(rows)])),
}

/**
 * Opens the database as a target. The generator that loads it takes the place of the service on its core.
 * @param {string} driver @param {Place} place @returns {Promise<Target>}
 * @throws {NotApplied} if pgbench does not run
 */
export async function openDirect(driver, { databaseUrl, cores }) {
  return {
    kind: 'local',
    countsRows: true,
    url: databaseUrl,
    shownUrl: keptDatabaseUrl(databaseUrl),
    ...{ adminUrl: null, metricsUrl: null, pid: null, cores: null },
    settings: driver === 'pgbench' ? { PGBENCH: await pgbenchVersion(databaseUrl) } : {},
    startLoad: (load, signal, onCounts) =>
      startGenerator({ ...load, drivers_url: import.meta.url }, signal, onCounts, { cores }),
    died: new Promise(() => {}),
    stop: async () => {},
  }
}

/** COPY over one connection, one commit after another. A committed row counts as a 201, without a latency. @param {number} commit_rows @returns {Pick<Driver, 'open'>} */
function copyIn(commit_rows) {
  return {
    async open({ url, mix, trial }) {
      const client = new pg.Client({ connectionString: url, application_name: 'redline-copy' })
      // A lost connection makes the next COPY fail.
      client.on('error', () => {})
      await client.connect()
      const userAt = usersOf(mix, trial)
      let next = 0
      return {
        async run({ duration_s, signal, onEnd }) {
          const started_ms = performance.now()
          let [stored, run_s] = [0, 0]
          while (run_s < duration_s) {
            signal.throwIfAborted()
            stored += await copy(client, textOf(userAt, next, commit_rows))
            next += commit_rows
            run_s = (performance.now() - started_ms) / 1000
          }
          onEnd()
          return trafficOf({ planned: stored, sent: stored, run_s, status: { 201: stored }, errors: {}, untimed: true })
        },
        close: () => client.end(),
      }
    },
  }
}

/** Rows in the text format of COPY. @param {ReturnType<typeof usersOf>} userAt @param {number} first @param {number} rows */
export function textOf(userAt, first, rows) {
  let text = ''
  for (let i = first; i < first + rows; i++) {
    const { email, password } = userAt(i)
    text += `${email}\t${password}\n`
  }
  return text
}

/** @param {pg.Client} client @param {string} text @returns {Promise<number>} number of rows that Postgres reports as stored */
async function copy(client, text) {
  const query = new pg.Query('COPY users (email, password) FROM STDIN')
  // pg leaves it to the query to send the data.
  const handleCopyInResponse = (/** @type {any} */ connection) => {
    connection.sendCopyFromChunk(Buffer.from(text))
    connection.endCopyFrom()
  }
  const [{ rowCount }] = await once(client.query(Object.assign(query, { handleCopyInResponse })), 'end')
  return rowCount
}
