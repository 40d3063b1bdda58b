import fs from 'node:fs'
import t from 'tap'
import { faults } from '../../../tuning/experiments/faults/faults.js'
import { temporaryFolder } from '../../support/lab.js'
import { wholeRun, wholeTrial } from '../../support/made-up/run.js'

/** A trial of few-ports, which its fault makes invalid. @param {number} block */
const trialOf = (block) => ({
  ...wholeTrial(block + 1),
  experiment: 'faults',
  at: { block },
  cell: { fault: 'few-ports' },
  limit: { resource: 'generator-ports' },
  outcome: { verdict: 'invalid', because: 'made up', blame: 'generator' },
})

/** Prepares a run whose part in a network namespace ends after these trials. @param {any} t @param {object[]} trials */
async function prepared(t, trials) {
  const folder = temporaryFolder(t)
  fs.writeFileSync(`${folder}/trials.ndjson`, trials.map((trial) => `${JSON.stringify(trial)}\n`).join(''))
  fs.writeFileSync(`${folder}/run.json`, JSON.stringify(wholeRun({ verb: 'faults' })))
  const unshare = `#!/bin/sh
while [ "$1" != --out ]; do shift; done
mkdir -p "$2"
cp '${folder}/run.json' '${folder}/trials.ndjson' "$2"
echo 'trial 1: few-ports' >&2
echo 'redline: the database has gone' >&2
exit 1
`
  fs.writeFileSync(`${folder}/unshare`, unshare, { mode: 0o755 })
  /** @type {any[]} */
  const kept = []
  const results = { readTrials: () => [], writeRun() {}, appendTrial: (/** @type {any} */ one) => void kept.push(one) }
  const io = {
    signal: new AbortController().signal,
    progress: { note() {} },
    environment: { database: {}, forApi: { PATH: `${folder}:${process.env.PATH}` } },
  }
  const plan = { ...faults.plan({ inside: true, only: ['few-ports'], blocks: 2 }, {}), inside: false }
  const begun = /** @type {any} */ ({ results, run: { run_id: 'r' } })
  const preparing = Promise.resolve(faults.prepare?.(plan, begun, /** @type {any} */ (io)))
  return { preparing, kept }
}

t.test('of a part that broke off in its network namespace nothing is adopted', async (t) => {
  const { preparing, kept } = await prepared(t, [trialOf(0)])
  await t.rejects(preparing, {
    message:
      'expected few-ports in each of 2 blocks, measured in a network namespace of its own, got none of few-ports in block 2; its last output: redline: the database has gone',
  })
  t.strictSame(kept, [])
})

t.test('a part that is whole is adopted as trials of the run', async (t) => {
  const { preparing, kept } = await prepared(t, [trialOf(0), trialOf(1)])
  await preparing
  t.strictSame(kept, [
    { ...trialOf(0), run_id: 'r' },
    { ...trialOf(1), run_id: 'r' },
  ])
})
