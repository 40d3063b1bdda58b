import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

/**
 * Whether a machine reaches itself by this name or address, whichever machine it is; it also does so by the unspecified address.
 * @param {string} name
 */
export function isLoopbackName(name) {
  return /^(localhost\.?|127\..*|0\.0\.0\.0|\[?::1?\]?)$/.test(name)
}

/** Whether a URL leads to this machine. A name that cannot be resolved does not. @param {string} url */
export async function isThisMachine(url) {
  const name = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = isIP(name) ? [{ address: name }] : await lookup(name, { all: true }).catch(() => [])
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  return found.length > 0 && found.every(({ address }) => own.includes(address) || isLoopbackName(address))
}
