import fs from 'node:fs'
import t from 'tap'
import { nextOfProof, pathCell } from '../../../load/capacity/proving.js'
import { putDistance } from '../../../load/system/between.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { elasticitiesOf } from '../../../load/verdict/proof.js'
import { runHere } from '../../support/in-process.js'
import { processesOf, readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

/** @import { Experiment } from '../../../load/run/experiment.js' */

const DISTANCE_MS = 10
/** Each statement holds a connection for a round trip, and clients wait for connections. */
const SETTINGS = { INSERT_MODE: 'prepared', POOL_MAX: '8', MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0' }
const LOAD = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 32 }
/** The fewest for which the interval of their difference is finite. In a proof, the trials with a longer way are among the blocks. */
const BLOCKS = 4
const FAR_TRIALS = 4
const MOST_PROOFS = 3

/** @param {any[]} elasticities */
const pathOf = (elasticities) => elasticities.find(({ resource }) => resource === 'postgres-path')

/** A sweep whose search is one trial, and whose proof ends with the trials in which the way is longer. @type {any} */
const pathOnly = /** @satisfies {Experiment<any>} */ ({
  ...sweep,
  design(plan, records) {
    const [seen, ...proof] = records
    const changed = [pathCell(records)].filter((cell) => cell !== null)
    // In more blocks, one trial in which the machine stood still no longer decides how wide the interval is.
    const isOver = proof.length >= BLOCKS + FAR_TRIALS && Number(pathOf(elasticitiesOf(proof))?.low ?? 0) > 0
    if (seen) return isOver ? null : nextOfProof(plan, records, { seen, load: LOAD, changed })
    const at = { phase: 'search', purpose: 'bracket' }
    return { at, cell: null, left_s: 1, load: { ...LOAD, warmup_s: 0.3, duration_s: 1 } }
  },
})

t.test('where each statement waits for a distant database, a longer way to it costs as much throughput', async (t) => {
  const folder = temporaryFolder(t)
  const { url } = await newDatabase(t)
  const proxy = await putDistance(
    { ...{ databaseUrl: url, cores: null, env: {} }, logFile: `${folder}/log` },
    DISTANCE_MS,
  )
  t.teardown(proxy.end)
  const before = processesOf('distance-proxy')
  const argv = ['sweep', '--slo-p99', '5s', '--warmup', '300ms', '--database-url', proxy.databaseUrl]
  /** @returns {Promise<string>} */
  const proof = async (tries = 1) => {
    const out = `${folder}/run-${tries}`
    const { stderr } = await runHere([...argv, '--out', out], { verbs: { sweep: pathOnly }, env: SETTINGS })
    t.ok(readTrials(out).length >= 1 + BLOCKS + FAR_TRIALS, stderr)
    // An interval that holds zero has decided nothing: the machine stood still in a trial or two.
    return pathOf(readRun(out).elasticities).low <= 0 && tries < MOST_PROOFS ? proof(tries + 1) : out
  }
  const out = await proof()
  t.strictSame(processesOf('distance-proxy'), before, 'what made the way longer has ended')

  const { database, elasticities } = readRun(out)
  t.ok(database.round_trip_ms >= DISTANCE_MS && database.round_trip_ms < 2 * DISTANCE_MS, `${database.round_trip_ms}`)
  const far = readTrials(out).filter(({ at }) => at.relaxed)
  t.equal(far.length, FAR_TRIALS)
  for (const { settings } of far) {
    const more_ms = settings.DB_ROUND_TRIP_MS - database.round_trip_ms
    t.ok(more_ms > 2 && more_ms < DISTANCE_MS, `a quarter of the way more, got ${more_ms} ms`)
  }
  const path = pathOf(elasticities)
  t.ok(path.elasticity > 0.5 && path.low > 0, JSON.stringify(path))
  t.match(fs.readFileSync(`${out}/report.md`, 'utf8'), /slowing the path to Postgres by 10 % costs/)
})
