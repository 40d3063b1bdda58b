import t from 'tap'
import { asksForTls, atPort } from '../../../../load/system/between.js'

t.test('the same database behind a port of loopback, wherever the URL has its host', (t) => {
  const rows = [
    ['postgres://u:p@db.example:6000/x?sslmode=disable', 'postgres://u:p@127.0.0.1:7000/x?sslmode=disable'],
    ['postgres:///x?host=/var/run/postgresql', 'postgres://127.0.0.1:7000/x'],
    ['postgres://u:p@[::1]/x?host=db.example&options=-c%20a=b', 'postgres://u:p@127.0.0.1:7000/x?options=-c+a%3Db'],
  ]
  for (const [url, expected] of rows) t.equal(atPort(url, 7000), expected)
  t.end()
})

t.test('TLS that the environment asks for is not left out behind it', async (t) => {
  const env = { PGSSLMODE: 'verify-full' }
  t.equal(asksForTls({ databaseUrl: 'postgres://u:p@10.0.0.1/db', env }), true)
  t.equal(
    asksForTls({ databaseUrl: 'postgres://u:p@10.0.0.1/db?sslmode=disable', env }),
    false,
    'the URL counts first, as with pg',
  )
  t.equal(asksForTls({ databaseUrl: 'postgres://u:p@10.0.0.1/db', env: {} }), false)
  t.equal(asksForTls({ databaseUrl: 'postgres://u:p@10.0.0.1/db?sslmode=verify-full', env: {} }), true)
})
