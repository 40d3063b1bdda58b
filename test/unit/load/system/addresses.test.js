import { networkInterfaces } from 'node:os'
import t from 'tap'
import { isThisMachine } from '../../../../load/system/addresses.js'

t.test('loopback and the own addresses are this machine, and no others are', async (t) => {
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.filter(({ scopeid }) => !scopeid) ?? [])
  const addresses = own.map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))
  for (const name of ['127.0.0.1', '127.9.9.9', '[::1]', '0.0.0.0', '[::]', ...addresses])
    t.equal(await isThisMachine(`http://${name}:8080/user?a=b`), true, name)
  // Addresses for documentation (RFC 5737 and RFC 3849), and one that only looks like loopback.
  for (const name of ['192.0.2.1', '[2001:db8::1]', '128.0.0.1', '0.0.0.1'])
    t.equal(await isThisMachine(`http://${name}/`), false, name)
})
