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
 * Puts load on a target. A driver runs in the generator's process.
 *
 * @typedef {object} Driver
 * @property {string} name
 * @property {'open' | 'closed'} loop
 * @property {number} [grace_s] additional time for its outside programs to start and end
 * @property {() => Promise<string>} version of the program or library behind it, for the record
 * @property {(asked: Asked) => void} [check] throws a UsageError for a load that this driver cannot send
 * @property {(load: Load, signal: AbortSignal) => Promise<Session>} open signal: ends the session
 *
 * @typedef {object} Session the load of one trial: successive phases that never send the same request twice
 * @property {(phase: Pick<Phase, 'duration_s' | 'signal'>) => Promise<void>} [ready] prepares the next phase, where that takes time
 * @property {(phase: Phase) => Promise<Traffic>} run
 * @property {() => Promise<void>} close
 *
 * @typedef {Omit<StepLoad, 'loop' | 'warmup_s' | 'duration_s'> & Own & Origin} Load plain data: it crosses to the generator's process
 * @typedef {{ url: string, mix: MixPlan, trial: number, timeout_s: number, on_demand?: boolean, latest_end_s?: number,
 *   drivers_url?: string }} Own on_demand: paced opens a connection when a request needs one, and not ahead;
 *   latest_end_s: longest wait for vegeta's end, beyond the load and its timeouts; drivers_url: of a module whose DRIVERS are
 *   used instead of those below
 *
 * @typedef {object} Origin of a load; by default this machine
 * @property {LoadHost[]} [load_hosts] send instead of this machine
 * @property {string | null} [ssh_config] used to reach them
 * @property {string[]} [local_addresses] source addresses of connections, in turn
 *
 * @typedef {object} Phase
 * @property {number} duration_s
 * @property {AbortSignal} signal stops the load at once; run() rejects with its reason
 * @property {(counts: { sent: number, completed: number, ok: number, failed: number, p99_ms?: number | null }) => void} onCounts
 *   about once a second
 * @property {() => void} onEnd called when the load is over and only arithmetic is left
 * @property {AbortSignal} enough paced: begins no more requests and ends with the responses to those in flight
 */

/** @type {Record<string, Driver>} */
export const DRIVERS = { paced, autocannon, client, vegeta, wrk, locust }
