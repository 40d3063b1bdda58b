import { keptDatabaseUrl } from '../../../../load/command/credentials.js'
import { NotApplied } from '../../../../load/command/errors.js'
import { startGenerator } from '../../../../load/generators/drive.js'
import { versionOf } from '../../../../load/system/processes.js'
import { SATURATION_CONNECTIONS } from '../columns.js'
import { copyIn } from './copy.js'
import { connectOnly, findPgbench, pgbench } from './pgbench.js'

/**
 * @import { Place } from '../../../../load/run/site.js'
 * @import { Target } from '../../../../load/targets/index.js'
 */

/**
 * One row for each connection of the closed loop, which is the most that can meet in a statement of the API; and enough rows for
 * commits and round trips to cost next to nothing.
 */
export const ROWS_PER_COMMIT = { copy: SATURATION_CONNECTIONS, 'copy-bulk': 10_000 }

const CONNECT_TIMEOUT_MS = 5000

/** Drivers that load the database without a service in front of it; the generator's process imports them from here. */
export const DRIVERS = {
  pgbench,
  ...Object.fromEntries(Object.entries(ROWS_PER_COMMIT).map(([name, rows]) => [name, copyIn(rows)])),
}

/**
 * Opens the database as a target. The generator that loads it takes the place of the service on its core.
 *
 * @param {string} driver @param {Place} place @returns {Promise<Target>}
 * @throws {NotApplied} where pgbench is not installed, or cannot connect: libpq finds its certificates elsewhere than pg does
 */
export async function openDirect(driver, { databaseUrl, cores }) {
  const program = driver === 'pgbench' ? findPgbench() : null
  if (driver === 'pgbench' && !program) throw new NotApplied('not found; apt install postgresql, or put it on PATH')
  if (program) {
    const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
    await connectOnly({ url: databaseUrl, connections: 1 }, timeout).catch((error) => {
      throw new NotApplied(error.message)
    })
  }
  return {
    kind: 'local',
    countsRows: true,
    url: databaseUrl,
    shownUrl: keptDatabaseUrl(databaseUrl),
    adminUrl: null,
    metricsUrl: null,
    pid: null,
    cores: null,
    settings: program ? { PGBENCH: versionOf(program, '--version', /([\d.]+)/) } : {},
    startLoad: (load, signal, onCounts) =>
      startGenerator({ ...load, drivers_url: import.meta.url }, signal, onCounts, { cores }),
    died: new Promise(() => {}),
    stop: async () => {},
  }
}
