import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { pinningText } from '../../../../load/run/site.js'
import { compare } from '../../../../tuning/experiments/compare/compare.js'
import { sideFlag } from '../../../../tuning/knobs/sides.js'
import { caught } from '../../../support/caught.js'
import { temporaryFolder } from '../../../support/lab.js'
import { refuses } from '../../../support/refusals.js'

t.test('a side has settings that take effect, and no credentials in its URL', async (t) => {
  const folder = temporaryFolder(t)
  const file = (/** @type {string} */ text) => {
    writeFileSync(path.join(folder, 'a.env'), text)
    return path.join(folder, 'a.env')
  }
  t.strictSame(sideFlag('a').parse('http://127.0.0.1:1/user'), { url: 'http://127.0.0.1:1/user', file: null })
  t.equal(sideFlag('a').parse('http://bob:secret@127.0.0.1:1/user'), undefined)
  for (const line of ['DATABASE_URL=postgres://a/b', 'PGHOST=a', 'CONNECTIONS=fresh', 'GENERATOR=vegeta', 'PORT=1']) {
    t.match(
      caught(() => sideFlag('a').parse(file(line))),
      { message: new RegExp(`a.env: expected .*${line.split('=')[0]}`) },
      line,
    )
  }
  for (const line of ['BODY_LIMIT_BYTES=16384', 'PGBOUNCER_POOL=4', 'LOG_LEVEL=warn']) {
    t.strictSame(sideFlag('a').parse(file(line)), { url: null, file: path.join(folder, 'a.env') }, line)
  }
  t.match(
    caught(() => sideFlag('a').parse(file('INSERT_MOD=single'))),
    { message: /expected settings of the API .* got INSERT_MOD$/ },
  )
})

t.test('where things ran is the same whichever side is opened first', async (t) => {
  const bench = { database: { kind: 'embedded' }, cores: { api: '0', others: '1' } }
  const first = (/** @type {string | null} */ cores) => pinningText({ url: null }, bench, { cores })
  t.equal(first(null), first('0'))
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [[], /--a: expected the URL of a running service .*, or a file of settings/],
    [['--a', 'http://127.0.0.1:1/'], /--b: expected/],
    [['--a', 'nowhere.env', '--b', 'http://127.0.0.1:1/'], /--a: expected .* got "nowhere.env"/],
  ]
  await refuses(t, { compare }, wrong)
})
