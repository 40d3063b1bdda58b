import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')
// A client that connects to the unspecified address reaches its own machine.
LOOPBACK.addAddress('0.0.0.0')
LOOPBACK.addAddress('::', 'ipv6')

/** Whether a machine reaches itself by this name, whichever machine it is. @param {string} name */
export function isLoopbackName(name) {
  return /^(localhost\.?|127\..*|0\.0\.0\.0|\[?::1?\]?)$/.test(name)
}

/** Whether a URL leads to this machine. A name that cannot be resolved does not. @param {string} url */
export async function isThisMachine(url) {
  const name = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = isIP(name) ? [{ address: name }] : await lookup(name, { all: true }).catch(() => [])
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  const isOwn = (/** @type {{ address: string }} */ { address }) => {
    return own.includes(address) || LOOPBACK.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return found.length > 0 && found.every(isOwn)
}
