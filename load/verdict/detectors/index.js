import { count } from '../../report/format.js'
import { ofErrors } from './finding.js'
import { generatorConnections, generatorCpu, machineNoise } from './generator.js'
import { ofWaits, postgresConnections, postgresCpu } from './postgres.js'
import {
  apiBlocked,
  apiCpu,
  apiGc,
  apiQuota,
  apiThreadpool,
  maxConnections,
  nofile,
  poolSize,
  poolTimeout,
} from './service.js'
import { acceptQueue, network, rateLimit } from './wire.js'

/** @import { Detect } from './finding.js' */

/**
 * Every resource with its detector, in the order in which they explain one another.
 *
 * @type {{ resource: string, detect: Detect }[]}
 */
export const DETECTORS = [
  {
    resource: 'generator-nofile',
    detect: (trial) =>
      ofErrors(
        trial,
        'client:nofile',
        ({ generator }) => `the generator's limit of open files is ${generator.open_files_max ?? 'unknown'}`,
      ),
  },
  {
    resource: 'generator-ports',
    detect: (trial) =>
      ofErrors(
        trial,
        'client:ports',
        ({ kernel, here = kernel }) => `${count(here.time_wait ?? 0)} connections in TIME_WAIT hold their ports`,
      ),
  },
  { resource: 'generator-cpu', detect: generatorCpu },
  { resource: 'machine-noise', detect: machineNoise },
  { resource: 'rate-limit', detect: rateLimit },
  { resource: 'api-quota', detect: apiQuota },
  { resource: 'nofile', detect: nofile },
  { resource: 'max-connections', detect: maxConnections },
  { resource: 'postgres-connections', detect: postgresConnections },
  { resource: 'postgres-lock', detect: (trial) => ofWaits(trial, /^Lock:/, 'a lock') },
  { resource: 'api-gc', detect: apiGc },
  { resource: 'api-threadpool', detect: apiThreadpool },
  { resource: 'api-blocked', detect: apiBlocked },
  { resource: 'api-cpu', detect: apiCpu },
  { resource: 'accept-queue', detect: acceptQueue },
  {
    resource: 'keep-alive-race',
    detect: (trial) =>
      ofErrors(
        trial,
        'server:closed-idle',
        (_probes, { KEEP_ALIVE_TIMEOUT_MS }) =>
          `the service closes idle connections${KEEP_ALIVE_TIMEOUT_MS ? ` after ${count(Number(KEEP_ALIVE_TIMEOUT_MS))} ms` : ''}`,
      ),
  },
  { resource: 'postgres-commit', detect: (trial) => ofWaits(trial, COMMIT_WAITS, 'the commit') },
  { resource: 'postgres-cpu', detect: postgresCpu },
  { resource: 'pool-size', detect: poolSize },
  { resource: 'pool-timeout', detect: poolTimeout },
  { resource: 'network', detect: network },
  { resource: 'generator-connections', detect: generatorConnections },
]

/** What a backend waits for between its statement and the end of its commit (Postgres manual, 27.2.3). */
const COMMIT_WAITS =
  /^(LWLock:WAL(Write|Insert|BufMapping)|IO:(WalSync|WALSync|WalWrite|WALWrite)|Timeout:CommitDelay|IPC:SyncRep|IPC:XactGroupUpdate)/
