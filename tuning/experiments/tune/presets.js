import { KNOBS } from '../../knobs/knobs.js'
import { factorial, nameOf, oneAtATime } from '../../stats/design.js'

/** @typedef {{ knobs: { name: string, levels: string[] }[], cells: string[], blocks: number, duration_ms: number, precision_ratio?: number }} Preset */

/**
 * The matrices that have a name. Levels of one knob are compared where there are six pairs: blocks times the combinations
 * of the other knobs.
 *
 * @type {Record<string, () => Preset>}
 */
export const PRESETS = {
  /** Three knobs with two levels each, from the article's settings on: as much as five minutes carry. */
  quick: () => {
    const knobs = [
      { name: 'INSERT_MODE', levels: ['single', 'batched'] },
      { name: 'POOL_MAX', levels: ['40', '10'] },
      { name: 'SEMI_SPACE_MB', levels: ['16', '64'] },
    ]
    return { ...matrixOf(knobs), blocks: 3, duration_ms: 1000, precision_ratio: 0.08 }
  },

  /** The API's pool against PgBouncer's, with a database so far away that pools count; and what passes through it. */
  pgbouncer: () => {
    const knobs = [
      { name: 'INSERT_MODE', levels: ['single', 'prepared', 'pipelined', 'batched'] },
      { name: 'DB_DELAY_MS', levels: ['5'] },
      { name: 'POOL_MAX', levels: ['20', '4'] },
      { name: 'PGBOUNCER_POOL', levels: ['0', '4', '20'] },
    ]
    const pools = factorial(
      knobs.map(({ name, levels }) => ({ name, levels: name === 'INSERT_MODE' ? ['single'] : levels })),
    )
    // Where it has fewer connections than the API, which is what it is there for.
    const shared = pools.find(
      ({ POOL_MAX, PGBOUNCER_POOL }) => Number(PGBOUNCER_POOL) < Number(POOL_MAX) && PGBOUNCER_POOL !== '0',
    )
    const modes = knobs[0].levels.slice(1).map((INSERT_MODE) => ({ ...shared, INSERT_MODE }))
    return { knobs, cells: [...pools, ...modes].map(nameOf), blocks: 3, duration_ms: 1000, precision_ratio: 0.08 }
  },

  /** Every knob alone, at all its levels. */
  full: () => {
    const all = Object.entries(KNOBS).map(([name, { levels }]) => ({ name, levels: levels.map(String) }))
    const knobs = all.filter(({ levels }) => levels.length > 1)
    return { knobs, cells: oneAtATime(knobs).map(nameOf), blocks: 6, duration_ms: 2000 }
  },
}

/** Every combination of levels. @param {{ name: string, levels: string[] }[]} knobs @returns {Preset} */
export function matrixOf(knobs) {
  const cells = factorial(knobs).map(nameOf)
  const smallest = Math.min(...knobs.map(({ levels }) => cells.length / levels.length))
  return { knobs, cells, blocks: Math.max(2, Math.ceil(PAIRS / smallest)), duration_ms: 2000 }
}

/** The least with which a 95 % interval can be had. */
const PAIRS = 6
