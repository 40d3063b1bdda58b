import { answers, connect, rawPost } from './socket.js'

/** Statuses of so many requests, one after the other on one connection. @param {string} url @param {number} count */
export async function answerStatus(url, count) {
  const socket = await connect(url)
  for (let i = 1; i <= count; i++) {
    socket.write(rawPost(`{"email":"refused-${i}@redline.test","password":"secret"}`))
    await answers(socket, i)
  }
  const statuses = [...socket.text().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  socket.destroy()
  return statuses
}

/** Opens so many connections, and tells which the server kept. @param {any} t @param {string} url @param {number} count */
export async function connectionsUntilRefused(t, url, count) {
  const sockets = []
  for (let i = 0; i < count; i++) {
    const socket = await connect(url)
    t.teardown(() => socket.destroy())
    const closed = new Promise((resolve) => socket.once('end', () => resolve(true)).once('close', () => resolve(true)))
    socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n')
    const answered = answers(socket, 1).then(
      (statuses) => statuses.length === 0,
      () => true,
    )
    sockets.push({ socket, refused: await Promise.race([closed, answered]) })
  }
  return {
    kept: sockets.filter(({ refused }) => !refused).map(({ socket }) => socket),
    refused: sockets.filter(({ refused }) => refused).length,
  }
}
