import { autocannon } from './autocannon.js'
import { client } from './client.js'
import { locust } from './locust.js'
import { paced } from './paced.js'
import { vegeta } from './vegeta.js'
import { wrk } from './wrk.js'

/**
 * @import { LoadHost } from '../hosts/prepare.js'
 * @import { Asked } from './refuse.js'
 * @import { MixPlan, Traffic } from '../../report/record.js'
 */

/**
 * What puts load on a target, all of one shape. A driver runs in the generator's process.
 *
 * @typedef {object} Driver
 * @property {string} name
 * @property {'open' | 'closed'} loop
 * @property {number} [grace_s] time that its outside programs may need in addition, to start and to end
 * @property {() => Promise<string>} version what it is built on, for the record
 * @property {(asked: Asked) => void} [check] throws a UsageError for what this driver cannot do
 * @property {(load: Load, signal: AbortSignal) => Promise<Session>} open signal: the session is not wanted any more
 *
 * @typedef {object} Session one trial's load: phases, one after the other, that never send the same request twice
 * @property {(phase: Pick<Phase, 'duration_s' | 'signal'>) => Promise<void>} [ready] does what the next phase needs before it can begin,
 *   where that takes time
 * @property {(phase: Phase) => Promise<Traffic>} run
 * @property {() => Promise<void>} close
 *
 * @typedef {object} Load plain data: it crosses to the generator's process
 * @property {string} driver
 * @property {string} url
 * @property {MixPlan} mix
 * @property {number} trial
 * @property {number | null} rate_rps null in a closed loop
 * @property {number} connections
 * @property {number} timeout_s
 * @property {boolean} [fresh_connections] a connection for each request
 * @property {number} [latest_end_s] vegeta: longest wait for its end, beyond the load and its timeouts
 * @property {number} [per_worker_rps] client: so many requests per second and worker at the most
 * @property {boolean} [unbounded] vegeta with its own defaults: no bound on workers and connections
 * @property {LoadHost[]} [load_hosts] where it comes from, instead of this machine
 * @property {string | null} [ssh_config] on the way to them
 * @property {string[]} [local_addresses] of this machine that connections come from, in turn
 *
 * @typedef {object} Phase
 * @property {number} duration_s
 * @property {AbortSignal} signal stops the load at once; run() rejects with its reason
 * @property {(counts: { sent: number, completed: number, ok: number, failed: number, p99_ms?: number | null }) => void} onCounts about once a second
 * @property {() => void} onEnd the load is over; what follows is arithmetic
 * @property {AbortSignal} enough paced: no more requests are begun, and the phase ends with the answers to those that were
 */

/** @type {Record<string, Driver>} */
export const DRIVERS = { paced, autocannon, client, vegeta, wrk, locust }
