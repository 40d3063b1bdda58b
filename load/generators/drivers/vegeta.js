import fs from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeScratch } from '../../../sql/scratch.js'
import { createMix } from '../mix.js'
import { refuseTaking } from './refuse.js'
import { constantRate } from './schedule.js'
import { partsOf, prepareAttack, shareOf } from './vegeta/attack.js'
import { hitsOf, summarise } from './vegeta/hits.js'
import { binary, VERSION } from './vegeta/program.js'

/**
 * @import { Driver, Load, Phase } from './index.js'
 * @import { Attack, Part } from './vegeta/attack.js'
 */

/** Longest wait beyond the last timeout: a vegeta with too little CPU finishes late, which makes its trial invalid. */
const LATEST_END_S = 180

/**
 * Open loop by vegeta, with as many workers and connections as the load has connections: with its own defaults (`unbounded`)
 * it opens more and more sockets as soon as latency rises, and measures that. Its latency starts when a worker takes a request;
 * ours starts at the intended send time. With several hosts or local addresses, one vegeta per place is prepared, and all start
 * together.
 * @type {Driver}
 */
export const vegeta = {
  name: 'vegeta',
  loop: 'open',
  grace_s: 2 * LATEST_END_S,
  async version() {
    binary()
    return VERSION
  },
  check(asked) {
    refuseTaking('vegeta', asked)
    binary()
  },
  async open(load) {
    const program = binary()
    const folder = makeScratch('vegeta')
    let requests = 0
    /** @type {Promise<Attack>[]} */
    let begun = []
    const close = async () => {
      await Promise.all(begun.map((attack) => attack.then((one) => one.close()).catch(() => {})))
      begun = []
    }

    /** @param {Pick<Phase, 'duration_s' | 'signal'>} phase */
    async function ready({ duration_s, signal }) {
      const { total } = constantRate(Number(load.rate_rps), duration_s)
      const first = requests
      requests += total
      const parts = partsOf(load).filter((part) => shareOf(part, total) > 0)
      begun = parts.map((part) => {
        const lines = targetsOf(load, first, total, part)
        return prepareAttack(program, load, part, lines, { folder, duration_s, signal })
      })
      await Promise.all(begun)
    }

    return {
      ready,
      async run(phase) {
        if (begun.length === 0) await ready(phase)
        try {
          const attacks = await Promise.all(begun)
          const parts = await Promise.all(attacks.map((attack) => toItsEnd(attack, load, phase)))
          phase.onEnd()
          const files = await Promise.all(attacks.map((attack) => attack.results()))
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

/**
 * Yields a part's targets as JSON, one per line. The URL's fragment is the number of the mix entry: vegeta returns but does not send it.
 * @param {Load} load @param {number} first @param {number} count for all parts @param {Part} part
 */
function* targetsOf({ url, mix, trial }, first, count, { index, of }) {
  const request = createMix(mix, trial)
  const { origin } = new URL(url)
  const numbers = new Map(mix.entries?.map(({ name }, i) => [name, i]))
  for (let i = first + index; i < first + count; i += of) {
    const { name, method, path, headers, body } = request(i)
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
    const header = Object.fromEntries(headers.map(([one, value]) => [one, [value]]))
    const target = path === null ? url : `${origin}${path}#${numbers.get(name)}`
    yield `${JSON.stringify({ method, url: target, header, body: bytes.toString('base64') })}\n`
  }
}

/**
 * Runs a part to its end. Parts start one interval of the common schedule apart.
 * @param {Attack} attack @param {Load} load @param {Phase} phase
 * @throws if vegeta does not exit in time, for example because it or its host was suspended
 */
async function toItsEnd({ part, run }, load, { duration_s, signal }) {
  const { index, host } = part
  if (index > 0) await sleep((index * 1000) / Number(load.rate_rps), undefined, { signal })
  const most_s = duration_s + 2 * load.timeout_s + (load.latest_end_s ?? LATEST_END_S)
  const late = sleep(most_s * 1000, undefined, { ref: false }).then(() => {
    const where = host ? `${host.host}: ` : ''
    throw new Error(`${where}expected vegeta to end within ${most_s} s, but it still runs: was it suspended?`)
  })
  late.catch(() => {})
  return { part, ran: await Promise.race([run(), late]) }
}
