import path from 'node:path'
import t from 'tap'
import { CONTENDERS, openContender } from '../../../tuning/experiments/bench/contenders.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const embedded = await newDatabase(t)

/** A floor and one of ours: a peer and an API. All of them are met by the bench in test/lab. */
const MET = CONTENDERS.filter(({ name }) => name === 'json' || name === 'prepared')

t.test('a contender answers 201, and stores a row unless it is a floor', async (t) => {
  t.equal(MET.length, 2)
  const logFile = path.join(temporaryFolder(t), 'api.log')
  const place = { databaseUrl: embedded.url, cores: null, allCores: null, env: process.env, logFile }
  await Promise.all(
    MET.map(async (contender) => {
      const target = await openContender(contender, place)
      t.teardown(target.stop)
      const user = newUser()
      const { status } = await post(target.url, user)
      t.equal(status, 201, contender.name)
      const stored = await rows(embedded.url, 'SELECT password FROM users WHERE email = $1', [user.email])
      t.equal(stored.length, contender.kind === 'floor' ? 0 : 1, `${contender.name}: rows`)
    }),
  )
})
