import t from 'tap'
import { sendsSecrets } from '../../support/secrets.js'

/** The drivers that are programs of their own; test/system has those that Node runs. */
for (const driver of ['wrk', 'locust']) sendsSecrets(t, driver, ['--driver', driver])
sendsSecrets(t, 'vegeta', ['--driver', 'vegeta', '--rates', '40'])
