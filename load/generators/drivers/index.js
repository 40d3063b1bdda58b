import { autocannon } from './autocannon.js'
import { client } from './client.js'
import { locust } from './locust.js'
import { paced } from './paced.js'
import { vegeta } from './vegeta.js'
import { workers } from './workers.js'
import { wrk } from './wrk.js'

/**
 * @import { LoadHost } from '../hosts/prepare.js'
 * @import { Asked } from './refuse.js'
 * @import { MixPlan, StepLoad, Traffic } from '../../report/record.js'
 */

/**
 * Puts load on a target. A driver runs in the generator's process.
 * @typedef {{ name: string, loop: 'open' | 'closed', grace_s?: number, version: () => Promise<string>, check?: (asked: Asked) => void,
 *   open: (load: Load, signal: AbortSignal) => Promise<Session> }} Driver grace_s: additional time for its external programs to start
 *   and exit; version: of the program or library behind it, for the record; check: throws a UsageError for a load that it cannot send;
 *   signal: ends the session
 * @typedef {{ ready?: (phase: Pick<Phase, 'duration_s' | 'signal'>) => Promise<void>, run: (phase: Phase) => Promise<Traffic>,
 *   close: () => Promise<void> }} Session the load of one trial: successive phases that never send the same request twice; ready:
 *   prepares the next phase, if that takes time
 * @typedef {Omit<StepLoad, 'loop' | 'warmup_s' | 'duration_s'> & Own & Origin} Load plain data: it crosses to the generator's process
 * @typedef {{ url: string, mix: MixPlan, trial: number, timeout_s: number, on_demand?: boolean, latest_end_s?: number,
 *   drivers_url?: string }} Own on_demand: paced opens a connection when a request needs one, not ahead;
 *   latest_end_s: longest wait for vegeta's end, beyond the load and its timeouts; drivers_url: of a module whose DRIVERS are
 *   used instead of those below
 * @typedef {{ load_hosts?: LoadHost[], ssh_config?: string | null, local_addresses?: string[] }} Origin of a load, by default this
 *   machine; load_hosts: send instead of it; ssh_config: for reaching them; local_addresses: source addresses, in turn
 * @typedef {{ duration_s: number, signal: AbortSignal, onCounts: (counts: Counts) => void, onEnd: () => void, enough: AbortSignal }} Phase
 *   signal: stops the load at once, and run() rejects with its reason; onCounts: called about once a second; onEnd: called when the
 *   load is over and only arithmetic is left, or a wait for answers that may never come; again if one does come; enough: makes paced start no more requests and finish those in flight
 * @typedef {{ sent: number, completed: number, ok: number, failed: number, p99_ms?: number | null }} Counts
 */

/** @type {Record<string, Driver>} */
export const DRIVERS = { paced, workers, autocannon, client, vegeta, wrk, locust }
