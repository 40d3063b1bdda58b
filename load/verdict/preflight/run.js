import { gatherFacts } from '../../probes/facts.js'
import { measureCeiling } from './ceiling.js'
import { preflight } from './preflight.js'

/**
 * @import { Look } from '../../../sql/database.js'
 * @import { pinToCores } from '../../system/processes.js'
 * @import { OfLoad, Planned } from './finding.js'
 */

/**
 * Looks at the machine, a quarter of a second, and measures what the generator can do, three to four, before a run. Nothing else
 * of ours should be busy meanwhile.
 *
 * @param {{ plan: Planned, hosts?: OfLoad[], database: Look | null, cores: ReturnType<typeof pinToCores>,
 *   measuresCeiling: boolean, signal: AbortSignal, note: (text: string) => void }} run hosts: that the load comes from, instead of
 *   this machine; measuresCeiling: of the generator; note: what is being done
 * @throws the signal's reason, when it was aborted
 */
export async function runPreflight({ plan, hosts, database, cores, measuresCeiling, signal, note }) {
  note('looking at this machine …')
  const facts = await gatherFacts({ cores, database, signal })
  if (measuresCeiling) note('measuring what the generator can do …')
  const ceiling = measuresCeiling ? await measureCeiling({ cores: cores?.api ?? null, signal }) : null
  const findings = preflight({ ...facts, ceiling }, plan, hosts)
  return { findings, ceiling: ceiling && !('failed' in ceiling) ? ceiling : null }
}
