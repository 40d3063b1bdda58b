import t from 'tap'
import { seededRandom } from '../../../load/system/random.js'
import { openDatabase } from '../../../sql/database.js'
import { startEmbedded } from '../../../sql/embedded.js'
import { startClient } from '../../../tuning/experiments/crash-test/client.js'
import { checkLedger } from '../../../tuning/experiments/crash-test/ledger.js'
import { startApi } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { failingDisk, withoutFailingDisk } from '../../support/failing-disk.js'

const ROUNDS = 4

/** Acknowledged rows before the power fails, so that it fails under load; then up to this long, at random. */
const MIN_ACKNOWLEDGED = 500
const MAX_DELAY_MS = 2000

/** Said by a test that fails, so that its delays can be repeated. */
const SEED = Date.now() % 2 ** 31
const random = seededRandom(SEED)

/** Rows that the API acknowledges after the disk has begun to lie: enough that some of them must be missing. */
const MIN_LIES = 100

const DEADLINE_MS = 120_000

// .ci/run knows this name: the one test that it allows to be skipped, where the kernel has no device mapper.
t.test('power loss', { skip: withoutFailingDisk() ?? false }, async (t) => {
  await t.test(
    'whatever was acknowledged before the power failed is in the table, once and under its id',
    async (t) => {
      const bench = await openBench(t)
      for (let round = 1; round <= ROUNDS; round++) {
        // Every second round begins its recovery at a checkpoint that was made under load.
        const result = await powerLoss(t, bench, `round-${round}`, { checkpoint: round % 2 === 0 })
        const { lost, doubled, invented } = result.ledger
        t.strictSame(
          { lost, doubled, invented },
          { lost: [], doubled: [], invented: [] },
          `round ${round}, seed ${SEED}`,
        )
        t.ok(result.lies.lost > 0, 'the disk did lose what was acknowledged after the power had failed')
      }
    },
  )

  await t.test('with fsync = off, rows that were acknowledged are lost', async (t) => {
    const bench = await openBench(t, { fsync: 'off' })
    // Data folder and table reach the disk, so that they can be read afterwards and only rows can be missing.
    await bench.disk.sync()
    const { ledger } = await powerLoss(t, bench, 'control', { checkpoint: false })
    t.ok(ledger.acknowledged >= MIN_ACKNOWLEDGED)
    t.ok(ledger.lost.length > 0, `${ledger.lost.length} of ${ledger.acknowledged} acknowledged rows are lost`)
  })
})

/**
 * @param {any} t
 * @param {Record<string, string>} [settings] of Postgres
 */
async function openBench(t, settings) {
  const disk = await failingDisk(t)
  const embedded = await startEmbedded({ parent: disk.folder, settings })
  t.teardown(() => embedded.stop())
  await (await openDatabase(embedded.url)).close()
  return { disk, embedded, api: await startApi(t, embedded.url) }
}

/**
 * Cuts the power under load and brings everything up again. An acknowledgement counts if its response arrived before
 * the disk began to lie; what is acknowledged later may or may not be stored.
 * @param {any} t
 * @param {Awaited<ReturnType<typeof openBench>>} bench
 * @param {string} name of the round
 * @param {{ checkpoint: boolean }} options
 */
async function powerLoss(t, { disk, embedded, api }, name, { checkpoint }) {
  await rows(embedded.url, 'TRUNCATE users')
  const client = startClient(api.url, name)
  await until('load', () => client.acknowledged() >= MIN_ACKNOWLEDGED)
  if (checkpoint) await rows(embedded.url, 'CHECKPOINT')
  await new Promise((resolve) => setTimeout(resolve, random() * MAX_DELAY_MS))

  await disk.pause()
  const answered = client.answered()
  await disk.fail()
  const lying = client.answered()
  const acknowledged = client.acknowledged()
  await until('load on the failed disk', () => client.acknowledged() >= acknowledged + MIN_LIES)
  await embedded.halt('SIGKILL')
  const entries = await client.stop()

  await disk.restore()
  await embedded.start()
  const stored = /** @type {any[]} */ (await rows(embedded.url, 'SELECT id::int, email FROM users'))
  const ledger = checkLedger(
    entries.map((entry, i) => (i < answered || entry.outcome === 'refused' ? entry : { ...entry, outcome: 'unknown' })),
    stored,
  )
  const lies = checkLedger(entries.slice(lying), stored)
  t.comment(
    `${name}: ${ledger.acknowledged} acknowledged before the power failed, ${ledger.lost.length} of them lost, ` +
      `${ledger.doubled.length} doubled, ${ledger.invented.length} invented; ${stored.length} rows in the table; ` +
      `${lies.acknowledged} acknowledged afterwards, ${lies.lost.length} of them lost`,
  )
  return { ledger, lies: { acknowledged: lies.acknowledged, lost: lies.lost.length } }
}

/** @param {string} what @param {() => boolean} isSo */
async function until(what, isSo) {
  for (const deadline = Date.now() + DEADLINE_MS; !isSo(); ) {
    if (Date.now() > deadline) throw new Error(`expected ${what} within ${DEADLINE_MS / 1000} s`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
