import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../load/command/errors.js'
import { openSide } from '../../../tuning/knobs/sides.js'
import { temporaryFolder } from '../../support/lab.js'

t.test('a side that cannot be set ends the run with one line, instead of asking for it for ever', async (t) => {
  const folder = temporaryFolder(t)
  const file = path.join(folder, 'a.env')
  writeFileSync(file, 'BODY_LIMIT_BYTES=abc\n')
  const place = { databaseUrl: 'postgres://127.0.0.1:1/none', cores: null, allCores: null, env: process.env }
  const opening = openSide({ url: null, file }, { ...place, logFile: path.join(folder, 'api.log') })
  const error = await opening.catch((/** @type {Error} */ refusal) => refusal)
  t.ok(error instanceof UsageError)
  t.match(error, { message: /a\.env: BODY_LIMIT_BYTES: expected a whole number .* got "abc"$/ })
})
