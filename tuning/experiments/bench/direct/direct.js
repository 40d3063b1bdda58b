import { keptDatabaseUrl } from '../../../../load/command/credentials.js'
import { startGenerator } from '../../../../load/generators/drive.js'
import { SATURATION_CONNECTIONS } from '../tables.js'
import { copyIn } from './copy.js'
import { pgbench, pgbenchVersion } from './pgbench.js'

/**
 * @import { NotApplied } from '../../../../load/command/errors.js'
 * @import { Place } from '../../../../load/run/site.js'
 * @import { Target } from '../../../../load/targets/index.js'
 */

/**
 * One row for each connection of the closed loop, which is the most that can meet in a statement of the API; and enough rows for
 * commits and round trips to cost next to nothing.
 */
export const ROWS_PER_COMMIT = { copy: SATURATION_CONNECTIONS, 'copy-bulk': 10_000 }

/** Drivers that load the database without a service in front of it; the generator's process imports them from here. */
export const DRIVERS = {
  pgbench,
  ...Object.fromEntries(Object.entries(ROWS_PER_COMMIT).map(([name, rows]) => [name, copyIn(rows)])),
}

/**
 * Opens the database as a target. The generator that loads it takes the place of the service on its core.
 *
 * @param {string} driver @param {Place} place @returns {Promise<Target>}
 * @throws {NotApplied} where pgbench does not run
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
