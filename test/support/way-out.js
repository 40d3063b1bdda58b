import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'

/**
 * A way from hosts to the outside, for npm there: a proxy (CONNECT) where the test runs, which has one.
 *
 * @param {any} t it ends with it
 * @param {import('./hosts.js').Host} host any of those that are to use it
 * @returns {Promise<Record<string, string>>} environment for them
 */
export async function openWayOut(t, { gateway }) {
  const proxy = http.createServer((_, answer) => answer.writeHead(405).end())
  /** @type {Set<import('node:stream').Duplex>} */
  const open = new Set()
  proxy.on('connect', (request, socket) => {
    const { hostname, port } = new URL(`http://${request.url}`)
    const out = net.connect(Number(port || 80), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      out.pipe(socket).pipe(out)
    })
    for (const end of [socket, out]) open.add(end)
    socket.on('error', () => out.destroy()).on('close', () => out.destroy())
    out.on('error', () => socket.destroy()).on('close', () => socket.destroy())
  })
  proxy.listen(0, gateway)
  await once(proxy, 'listening')
  t.teardown(() => {
    for (const end of open) end.destroy()
    proxy.close()
  })
  const { port } = /** @type {net.AddressInfo} */ (proxy.address())
  const { NODE_EXTRA_CA_CERTS: ca } = process.env
  return { npm_config_https_proxy: `http://${gateway}:${port}`, ...(ca && { NODE_EXTRA_CA_CERTS: ca }) }
}
