import { count, processesText } from '../../report/format.js'

/** @import { Check } from './preflight.js' */

/** One core for the API alone and one for everything else. */
const CORES_NEEDED = 2
/** Capacity is measured to ±5 %, so taking more CPU time than that spoils it; a single clock tick is ignored. */
const MAX_STEAL_RATIO = { ok: 0.01, warn: 0.05 }
const MAX_OTHERS_CORE_RATIO = { ok: 0.05, warn: 0.25 }
/** Never bad: the average over the last 10 s may include work that has just ended, such as our own startup. */
const MAX_PRESSURE_RATIO = { ok: 0.2, warn: Number.POSITIVE_INFINITY }
/** At this utilization a request waits for two others on average (M/D/1: u / 2(1 - u)); beyond it, waits grow steeply. */
const MAX_GENERATOR_RATIO = 0.8

/** Reasons why the measured ceiling is only a lower bound. @type {Record<string, string>} */
const AT_LEAST = {
  server: 'at least: the null server was saturated first',
  neither: 'at least: neither the generator nor the null server got a whole core',
}

/** Checks for what on this machine would spoil a measurement. @type {Record<string, Check>} */
export const MACHINE = {
  cores: {
    what: 'cores and pinning',
    why: 'unless the API has a core to itself, its rate depends on what the generator and Postgres left over',
    mend: 'give this machine two cores or more and install taskset (util-linux)',
    of: 'api',
    look({ cores }) {
      if (!cores) return null
      const { allowed, pinned } = cores
      if (pinned) return { isOk: true, value: `core ${pinned.api} for the API, ${pinned.others} for everything else` }
      const value = `${count(allowed)} of at least ${CORES_NEEDED} cores: nothing is pinned`
      return { isOk: false, isUsable: allowed >= CORES_NEEDED, value }
    },
  },
  'cpu-quota': {
    what: 'CPU quota of this group',
    why: 'whatever has used it up is paused for the rest of each period (100 ms), which looks like a slow service',
    mend: 'lift the limit (cpu.max; --cpus of a container, limits.cpu of a pod)',
    of: 'machine',
    look({ cpu_quota_cores: quota_cores, cores }) {
      if (quota_cores === null) return null
      if (quota_cores === Number.POSITIVE_INFINITY) return { isOk: true, value: 'none' }
      const allowed = cores?.pinned ? cores.pinned.others.split(',').length + 1 : (cores?.allowed ?? CORES_NEEDED)
      const value = `${quota_cores} of ${count(allowed)} cores`
      return { isOk: quota_cores >= allowed, isUsable: quota_cores >= CORES_NEEDED, value }
    },
  },
  steal: {
    what: 'CPU taken by the host',
    why: 'while the host runs others on a core, that core is slow for reasons that no probe on this machine can see',
    mend: 'measure at another time, or on a machine with dedicated cores',
    of: 'machine',
    look: ({ steal_ratio: ratio }) => atMost(MAX_STEAL_RATIO, ratio, 'of all cores'),
  },
  'other-processes': {
    what: 'CPU used by others',
    why: 'the service, the generator and Postgres get only what is left',
    mend: 'stop other programs (top shows them), then run this again',
    past: 'when the run began, other programs used',
    of: 'machine',
    look({ busy, busiest }) {
      if (!busy) return null
      const most = Math.max(...busy.map(({ ratio }) => ratio))
      const list = busy.map(({ core, ratio }) => `core ${core}: ${percent(ratio)}`).join(', ')
      const of = busiest.length > 0 ? `of a core (${list}; ${processesText(busiest)})` : `of a core (${list})`
      return atMost(MAX_OTHERS_CORE_RATIO, most, of)
    },
  },
  pressure: {
    what: 'waiting for a core, last 10 s',
    why: 'more processes wanted to run than there are cores; whatever still runs is measured along with the service',
    mend: 'wait a few seconds and run this again; top shows what is running',
    past: 'in the 10 s before the run began, programs waited for a core',
    of: 'machine',
    look: ({ pressure_ratio: ratio }) => atMost(MAX_PRESSURE_RATIO, ratio, 'of the time'),
  },
  'generator-ceiling': {
    what: 'what the generator can do',
    why: `above ${percent(MAX_GENERATOR_RATIO)} of that, the generator itself is late, and the latencies are not the service's`,
    mend: 'plan a lower rate, or put the generator on a machine of its own',
    of: 'lab',
    look({ ceiling }, { rate_rps }) {
      if (!ceiling) return null
      if ('failed' in ceiling)
        return { isOk: false, value: ceiling.failed, mend: 'fix what else is bad, then run this again' }
      const { ceiling_rps, bound_by } = ceiling
      const rate = rate_rps ?? 0
      const planned = rate_rps === null ? 'the rate is not known yet' : `${count(rate_rps)}/s planned`
      const value = `${count(Math.round(ceiling_rps))}/s ${AT_LEAST[String(bound_by)] ?? 'against a null server, which does nothing'}; ${planned}`
      // If something else was the bottleneck, the generator may still manage the rate. Above what the null server can take,
      // there is no way to show that it does.
      const isUsable = bound_by === 'neither' || (bound_by === 'server' && rate <= ceiling_rps)
      return { isOk: rate <= ceiling_rps * MAX_GENERATOR_RATIO, isUsable, value }
    },
  },
}

/** @param {{ ok: number, warn: number }} bounds @param {number | null} ratio @param {string} of */
function atMost({ ok, warn }, ratio, of) {
  if (ratio === null) return null
  const value = `${percent(ratio)} ${of}, expected at most ${percent(ok)}`
  return { isOk: ratio <= ok, isUsable: ratio <= warn, value }
}

/** @param {number} ratio */
function percent(ratio) {
  return `${+(ratio * 100).toFixed(ratio < 0.1 ? 1 : 0)} %`
}
