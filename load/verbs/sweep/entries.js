import { isValid } from '../../capacity/ladder.js'
import { titled } from '../../report/blocks.js'
import { count, milliseconds, NONE, offered, percent } from '../../report/format.js'

/**
 * @import { Block } from '../../report/blocks.js'
 * @import { TrialRecord } from '../../report/record.js'
 */

/**
 * Results of each entry of a mix, from the last trial that passed or else from the last valid one.
 * @param {TrialRecord[]} records @returns {Block[]} empty if there was no mix, or if its driver does not tell the entries apart
 */
export function entryBlocks(records) {
  const told = records.filter((record) => isValid(record) && !record.cell && !record.doses && record.traffic.by_entry)
  const record = told.findLast(({ outcome }) => outcome.verdict === 'pass') ?? told.at(-1)
  if (!record) return []
  const rows = Object.entries(record.traffic.by_entry ?? {}).map(([name, entry]) => {
    const { completed, ok, failed = 0, latency_ms } = entry
    const all = completed + failed
    const success = all === 0 ? NONE : percent(ok / all)
    return [name, count(all), success, milliseconds(latency_ms?.p50), milliseconds(latency_ms?.p99)]
  })
  const about = `The requests of the mix, in trial ${record.trial} (${offered(record.load)}, ${record.outcome.verdict}):`
  return titled(about, ['entry', 'requests', 'success', 'p50', 'p99'], rows, { name: 'entries' })
}
