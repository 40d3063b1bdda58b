import { speedOf } from '../../capacity/of-records.js'
import { shortTrialTable } from '../../report/trials.js'

/**
 * @import { Table } from '../../report/blocks.js'
 * @import { TrialRecord } from '../../report/record.js'
 */

/** The trial table for a terminal. A trial that does not count, since the core had another speed, says so in its outcome. @param {TrialRecord[]} records @returns {Table} */
export function sweepTable(records) {
  const table = shortTrialTable(records)
  const others = speedOf(records)?.others ?? []
  const rows = table.rows.map((row, i) => {
    return others.includes(records[i]) ? [...row.slice(0, -1), `${row.at(-1)}, not counted: core speed`] : row
  })
  return { ...table, rows, brief: true }
}
