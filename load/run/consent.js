import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { keptUrl } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { createMix } from '../generators/mix.js'
import { playTime_s } from '../generators/replay.js'
import { count } from '../report/format.js'
import { isLoopbackName, isThisMachine } from '../system/addresses.js'
import { nameOf } from '../system/ssh/failures.js'

/**
 * @import { Ask } from '../command/ask.js'
 * @import { MixPlan, Replay, Step } from '../report/record.js'
 */

/**
 * Announces what a run is about to send to services that are not its own, and asks for consent if one of them is on another machine.
 * @param {{ url?: string | null, shown_url?: string, sides?: Record<string, { url: string | null, shown_url?: string }>, mix?: MixPlan,
 *   rates_rps?: number[] | null, searches?: boolean, load_hosts?: string[] }} plan with its secrets resolved
 * @param {() => Pick<Step, 'load' | 'left_s'> | null} firstStep
 * @param {{ isAgreed?: boolean, ask: Ask, note: (text: string) => void }} how isAgreed: --yes was given
 * @throws {UsageError} without consent, or for a host name without an address
 */
export async function seekConsent(plan, firstStep, { isAgreed, ask, note }) {
  const { url, shown_url, sides, mix, load_hosts = [] } = plan
  // A run with sides loads those, and no other.
  const loaded = sides ? Object.values(sides) : [{ url, shown_url }]
  const targets = loaded.flatMap(({ url, shown_url }) => (url ? { url, shown: shown_url ?? keptUrl(url) } : []))
  const first = targets.length > 0 ? firstStep() : null
  if (!mix || !first) return
  const names = targets.map(({ shown }) => shown).join(' and ')
  note(
    `To ${names}, Redline will send ${requestText(mix)}: ${amountText(plan, first, mix.replay)} does not remove what the requests store or change.`,
  )
  const isElsewhere = load_hosts.some((host) => !isLoopbackName(nameOf(host)))
  if (!isElsewhere) await Promise.all(targets.map(({ url }) => refuseUnknown(new URL(url).hostname)))
  // A name may mean another machine there. A number hardly does (that of a bridge which each machine has, such as docker0).
  const isKnown = (/** @type {string} */ url) => !isElsewhere || isIP(new URL(url).hostname.replace(/^\[|\]$/g, '')) > 0
  const isHere = await Promise.all(targets.map(async ({ url }) => isKnown(url) && (await isThisMachine(url))))
  const others = targets.filter((_, i) => !isHere[i]).map(({ url }) => new URL(url).hostname)
  if (others.length === 0 || isAgreed) return
  const why = isElsewhere ? 'possibly not this machine for the load hosts' : 'not this machine'
  const answer = await ask(`${others.join(' and ')}: ${why}. Is this load welcome there?`)
  if (answer === null) throw new UsageError(`expected --yes, since ${others.join(' and ')} is ${why}`)
  if (!answer) throw new UsageError('expected a yes, got none: nothing was sent')
}

/** Every request would fail, some only after a long wait for the name server. @param {string} name @throws {UsageError} */
function refuseUnknown(name) {
  return lookup(name.replace(/^\[|\]$/g, '')).catch(({ code }) => {
    throw new UsageError(`expected a host name that resolves here, got ${name} (${code})`)
  })
}

/** Describes the requests, without anything that may be a secret. @param {MixPlan} mix */
function requestText(mix) {
  const { entries, source, body_base64, method, replay } = mix
  if (replay) {
    return `the ${count(replay.requests)} requests of ${replay.file} (${replay.methods.join(' and ')}) in their order and rhythm`
  }
  const { method: first, path, body } = createMix(mix, 1)(0)
  if (entries)
    return `the requests of ${source?.file} by weight (${entries.length}), such as ${first} ${keptUrl(String(path))}`
  if (body_base64 === null) return `${method} requests, each with a new user as ${body}`
  const bytes = Buffer.from(body_base64, 'base64').length
  if (bytes === 0) return `${method} requests without a body`
  return `${method} requests with the same ${count(bytes)} bytes as body`
}

/** How long and how much: what a search sends depends on the service. @param {{ rates_rps?: number[] | null, searches?: boolean }} plan @param {Pick<Step, 'load' | 'left_s'>} first @param {Replay} [replay] */
function amountText({ rates_rps, searches }, { load, left_s }, replay) {
  const { warmup_s, duration_s } = load
  const seconds = count(Math.ceil(left_s))
  if (rates_rps) {
    const length_s = (/** @type {number} */ rate_rps) => (replay ? playTime_s(replay, rate_rps) : duration_s)
    const total = rates_rps.reduce((sum, rate_rps) => sum + rate_rps * (warmup_s + length_s(rate_rps)), 0)
    return `about ${count(Math.round(total))} within ${seconds} s. It sends them even if the service cannot keep up, and`
  }
  if (searches) return `${SEARCH}. It`
  return `as many as are answered in about ${seconds} s (${count(1000 * left_s)} at 1,000/s). It loads the service up to its limit, and`
}

const SEARCH =
  'at rising rates until the service fails, usually for two to four minutes (longer if it is slow, the machine is noisy, or trials are long); at 10,000/s, that is more than a million requests'
