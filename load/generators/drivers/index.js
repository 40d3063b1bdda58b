import { autocannon } from './autocannon.js'
import { client } from './client.js'
import { locust } from './locust.js'
import { paced } from './paced.js'
import { vegeta } from './vegeta.js'
import { wrk } from './wrk.js'

/**
 * @import { LoadHost } from '../hosts/prepare.js'
 * @import { Asked } from './refuse.js'
 * @import { MixPlan, StepLoad, Traffic } from '../../report/record.js'
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
 * @property {(phase: Pick<Phase, 'duration_s' | 'signal'>) => Promise<void>} [ready] does what the next phase needs before it
 *   can begin, where that takes time
 * @property {(phase: Phase) => Promise<Traffic>} run
 * @property {() => Promise<void>} close
 *
 * @typedef {Omit<StepLoad, 'loop' | 'warmup_s' | 'duration_s'> & Own & Origin} Load plain data: it crosses to the generator's process
 * @typedef {{ url: string, mix: MixPlan, trial: number, timeout_s: number, on_demand?: boolean, latest_end_s?: number,
 *   drivers_url?: string }} Own on_demand: paced opens a connection when a request needs one, and not ahead;
 *   latest_end_s: longest wait for vegeta's end, beyond the load and its timeouts; drivers_url: of a module whose DRIVERS are
 *   used instead of those below
 *
 * @typedef {object} Origin where a load comes from; by default this machine
 * @property {LoadHost[]} [load_hosts] instead of this machine
 * @property {string | null} [ssh_config] on the way to them
 * @property {string[]} [local_addresses] of this machine that connections come from, in turn
 *
 * @typedef {object} Phase
 * @property {number} duration_s
 * @property {AbortSignal} signal stops the load at once; run() rejects with its reason
 * @property {(counts: { sent: number, completed: number, ok: number, failed: number, p99_ms?: number | null }) => void} onCounts
 *   about once a second
 * @property {() => void} onEnd the load is over; what follows is arithmetic
 * @property {AbortSignal} enough paced: no more requests are begun, and the phase ends with the answers to those that were
 */

/** @type {Record<string, Driver>} */
export const DRIVERS = { paced, autocannon, client, vegeta, wrk, locust }
