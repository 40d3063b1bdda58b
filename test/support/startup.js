import net from 'node:net'

/**
 * A way to a database that drops `options` from what a client asks for, as PgBouncer does with
 * ignore_startup_parameters.
 * @param {any} t
 * @param {string} databaseUrl
 * @returns {Promise<string>} its URL
 */
export async function withoutOptions(t, databaseUrl) {
  const { hostname, port } = new URL(databaseUrl)
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(port), hostname)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.once('data', (first) => {
      const words = first.subarray(8).toString('latin1').split('\0')
      const at = words.indexOf('options')
      if (at !== -1) words.splice(at, 2)
      const rest = Buffer.from(words.join('\0'), 'latin1')
      const head = Buffer.from(first.subarray(0, 8))
      head.writeInt32BE(rest.length + 8)
      upstream.write(Buffer.concat([head, rest]))
      client.pipe(upstream).pipe(client)
    })
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const url = new URL(databaseUrl)
  url.port = String(/** @type {net.AddressInfo} */ (server.address()).port)
  return url.href
}
