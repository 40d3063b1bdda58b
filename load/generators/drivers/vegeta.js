import { once } from 'node:events'
import fs from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { makeScratch } from '../../../sql/scratch.js'
import { createMix } from '../mix.js'
import { constantRate } from './pacing.js'
import { refuseEntries } from './refuse.js'
import { attackArguments, localAttack, partsOf, shareOf } from './vegeta/attack.js'
import { hitsOf, summarise } from './vegeta/hits.js'
import { binary, versionOf } from './vegeta/program.js'
import { remoteAttack } from './vegeta/remote.js'

/**
 * @import { Mix } from '../mix.js'
 * @import { Driver, Load, Phase } from './index.js'
 * @import { Attack, Part, Ran } from './vegeta/attack.js'
 */

/** Beyond its last timeout: one that has too little CPU ends late, and its trial is invalid for that. */
const LATEST_END_S = 60

/**
 * Open loop by vegeta, with as many workers and connections as the load has connections: with its own defaults (`unbounded`)
 * it opens sockets without bound as soon as latency rises, and measures that. Its latency starts when a worker takes a
 * request; ours starts at the intended send time.
 *
 * With several hosts or local addresses, a vegeta on each is made ready, and then all begin together.
 *
 * @type {Driver}
 */
export const vegeta = {
  name: 'vegeta',
  loop: 'open',
  grace_s: 2 * LATEST_END_S,
  version: async () => versionOf(binary()),

  check(asked) {
    refuseEntries('vegeta', asked)
    binary()
  },

  async open(load) {
    const program = binary()
    const folder = makeScratch('vegeta')
    const mix = createMix(load.mix, load.trial)
    let requests = 0
    /** @type {Begun[]} */
    let begun = []
    const close = async () => {
      await Promise.all(begun.map(({ attack }) => attack.close()))
      begun = []
    }

    /** @param {Pick<Phase, 'duration_s' | 'signal'>} phase */
    async function ready({ duration_s, signal }) {
      const { total } = constantRate(Number(load.rate_rps), duration_s)
      begun = partsOf(load)
        .filter((part) => shareOf(part, total) > 0)
        .map((part) => {
          const lines = targets(load.url, mix, requests, total, part)
          return { part, attack: attackOf(program, load, part, lines, { folder, duration_s, signal }) }
        })
      requests += total
      await Promise.all(begun.map(({ attack }) => attack.ready()))
    }

    return {
      ready,

      async run(phase) {
        if (begun.length === 0) await ready(phase)
        try {
          const parts = await Promise.all(begun.map((one) => started(one, load, phase)))
          phase.onEnd()
          const files = await Promise.all(begun.map(({ attack }) => attack.results()))
          return summarise(await hitsOf(program, files, phase.signal), parts, load, phase.duration_s)
        } finally {
          await close()
        }
      },

      close: async () => {
        await close()
        await fs.rm(folder, { recursive: true, force: true })
      },
    }
  },
}

/** @typedef {{ part: Part, attack: Attack }} Begun */

/**
 * JSON targets of a part, one a line.
 *
 * @param {string} url
 * @param {Mix} mix
 * @param {number} first
 * @param {number} count of all parts
 * @param {Part} part
 */
function* targets(url, mix, first, count, { index, of }) {
  /** @type {Record<string, string[]>} */
  const header = {}
  for (const [name, value] of mix.headers) header[name] = [...(header[name] ?? []), value]
  for (let i = first + index; i < first + count; i += of) {
    const given = mix.body(i)
    // A string is one byte a character.
    const body = (typeof given === 'string' ? Buffer.from(given, 'latin1') : given).toString('base64')
    yield `${JSON.stringify({ method: mix.method, url, header, body })}\n`
  }
}

/**
 * @param {string} program here
 * @param {Load} load
 * @param {Part} part
 * @param {Iterable<string>} lines
 * @param {{ folder: string, duration_s: number, signal: AbortSignal }} options
 */
function attackOf(program, load, part, lines, { folder, duration_s, signal }) {
  const output = path.join(folder, `results-${part.index}.bin`)
  const args = attackArguments(load, part, duration_s)
  if (part.host === null) return localAttack(program, args, lines, { output, signal })
  return remoteAttack(part.host, args, lines, { config: load.ssh_config ?? null, output, signal })
}

/**
 * Runs a part to its end. The first request of each is due as far behind that of the part before it as in one schedule.
 *
 * @param {Begun} begun
 * @param {Load} load
 * @param {Phase} phase
 * @throws where vegeta does not end, since it has been stopped, or its host stands still
 */
async function started({ part, attack }, { rate_rps, timeout_s, latest_end_s = LATEST_END_S }, { duration_s, signal }) {
  if (part.index > 0) await setTimeout((part.index * 1000) / Number(rate_rps), undefined, { signal })
  const most_s = duration_s + 2 * timeout_s + latest_end_s
  const where = part.host ? `${part.host.host}: ` : ''
  const late = once(AbortSignal.timeout(most_s * 1000), 'abort').then(() => {
    throw new Error(`${where}expected vegeta to end within ${most_s} s, and it still runs: has it been stopped?`)
  })
  late.catch(() => {})
  return { part, ran: /** @type {Ran} */ (await Promise.race([attack.run(), late])) }
}
