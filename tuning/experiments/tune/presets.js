import { KNOBS } from '../../knobs/knobs.js'
import { factorial, oneAtATime } from '../../stats/design.js'

/**
 * @import { Factor } from '../../stats/design.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

/** @typedef {{ knobs: Factor[], cells: Cell[], blocks: number, duration_ms: number, precision_ratio?: number }} Preset */

/** Rates offered to each cell in each block, as shares of the anchor's capacity. */
export const OFFERED = Object.freeze({ below: 0.5, at: 1, above: 1.5 })

/** The fewest pairs that give a 95 % interval: blocks times the combinations of the other knobs. */
const PAIRS = 6

/** The named matrices. @type {Record<string, () => Preset>} */
export const PRESETS = {
  /** The API's pool against PgBouncer's, with a database so far away that pools matter; and the modes that PgBouncer lets through. */
  pgbouncer: () => {
    const knobs = [
      { name: 'INSERT_MODE', levels: ['single', 'prepared', 'pipelined', 'batched'] },
      { name: 'DB_DELAY_MS', levels: [5] },
      { name: 'POOL_MAX', levels: [20, 4] },
      { name: 'PGBOUNCER_POOL', levels: [0, 4, 20] },
    ]
    const pools = factorial(
      knobs.map(({ name, levels }) => ({ name, levels: name === 'INSERT_MODE' ? ['single'] : levels })),
    )
    // PgBouncer exists to hold fewer connections than the API does.
    const shared = pools.find(({ POOL_MAX, PGBOUNCER_POOL }) => PGBOUNCER_POOL !== 0 && PGBOUNCER_POOL < POOL_MAX)
    const modes = knobs[0].levels.slice(1).map((INSERT_MODE) => ({ ...shared, INSERT_MODE }))
    return { knobs, cells: [...pools, ...modes], blocks: PAIRS, duration_ms: 1000, precision_ratio: 0.08 }
  },

  /** A table that has grown, one with more indexes, and Postgres' own work in the trial; a row per statement shows what each row costs. */
  growth: () => {
    const mode = { name: 'INSERT_MODE', levels: ['single'] }
    const knobs = [mode, ...['TABLE_ROWS', 'INDEXES', 'UPKEEP'].map((name) => ({ name, levels: KNOBS[name].levels }))]
    const alone = oneAtATime(knobs).filter(({ UPKEEP }) => UPKEEP === 'none')
    const [, grown] = alone
    const kept = KNOBS.UPKEEP.levels.slice(1).map((UPKEEP) => ({ ...grown, UPKEEP }))
    return { knobs, cells: [...alone, ...kept], blocks: PAIRS, duration_ms: 2000 }
  },

  /** Every knob alone, at all its levels. */
  full: () => {
    const all = Object.entries(KNOBS).map(([name, { levels }]) => ({ name, levels }))
    const knobs = all.filter(({ name, levels }) => levels.length > 1 && name !== 'TABLE_ROWS')
    return { knobs, cells: oneAtATime(knobs), blocks: 6, duration_ms: 2000 }
  },
}

/** Every combination of levels. @param {Factor[]} knobs @returns {Preset} */
export function matrixOf(knobs) {
  const cells = factorial(knobs)
  const smallest = Math.min(...knobs.map(({ levels }) => cells.length / levels.length))
  return { knobs, cells, blocks: Math.max(2, Math.ceil(PAIRS / smallest)), duration_ms: 2000 }
}
