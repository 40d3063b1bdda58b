import { count } from '../../report/format.js'
import { ofQuota } from './finding.js'
import { generatorConnections, generatorCpu, machineNoise } from './generator.js'
import { ofWaits, postgresCommit, postgresConnections, postgresCpu } from './postgres.js'
import * as service from './service.js'
import { acceptQueue, keepAliveRace, network, ofErrors, rateLimit } from './wire.js'

/** @import { Detect } from './finding.js' */

/** Every resource with its detector, ordered from cause to symptom. @type {Record<string, Detect>} */
export const DETECTORS = {
  'generator-nofile': ofErrors('client:nofile', ({ generator }) => {
    return `the generator's limit of open files is ${generator.open_files_max ?? 'unknown'}`
  }),
  'generator-ports': ofErrors('client:ports', ({ kernel, here = kernel }) => {
    return `${count(here.time_wait ?? 0)} connections in TIME_WAIT hold their ports`
  }),
  'generator-cpu': generatorCpu,
  'machine-noise': machineNoise,
  'rate-limit': rateLimit,
  'api-quota': ({ probes }) => ofQuota(probes.api, 'the service'),
  'postgres-quota': ({ probes }) => ofQuota(probes.postgres, 'Postgres'),
  nofile: service.nofile,
  'max-connections': service.maxConnections,
  'postgres-connections': postgresConnections,
  'postgres-lock': ofWaits(/^Lock:/, 'a lock'),
  'api-gc': service.apiGc,
  'api-threadpool': service.apiThreadpool,
  'api-blocked': service.apiBlocked,
  'api-cpu': service.apiCpu,
  'keep-alive-race': keepAliveRace,
  'postgres-commit': postgresCommit,
  'postgres-cpu': postgresCpu,
  // Behind what may keep the service from accepting.
  'accept-queue': acceptQueue,
  'pool-size': service.poolSize,
  'pool-timeout': service.poolTimeout,
  network,
  'generator-connections': generatorConnections,
}
