/**
 * The causal check: a limit that is a knob of ours is relaxed by one notch, and the edge is run again. What stood beside
 * the limit by chance does not move the capacity; the limit does. Pure.
 */

/** One notch has to be felt: half a notch would drown in noise. @type {Record<string, (settings: Settings) => Notch | null>} */
const NOTCHES = {
  'pool-size': ({ POOL_MAX }) => times('POOL_MAX', POOL_MAX, 4),
  'pool-timeout': ({ POOL_CONNECT_TIMEOUT_MS }) => times('POOL_CONNECT_TIMEOUT_MS', POOL_CONNECT_TIMEOUT_MS, 100),
  nofile: ({ NOFILE }) => times('NOFILE', NOFILE, 16),
  'max-connections': ({ MAX_CONNECTIONS }) => times('MAX_CONNECTIONS', MAX_CONNECTIONS, 16),
  'accept-queue': ({ LISTEN_BACKLOG }) => times('LISTEN_BACKLOG', LISTEN_BACKLOG, 512, 65_535),
  'keep-alive-race': () => ({ name: 'KEEP_ALIVE_TIMEOUT_MS', value: '65000' }),
  // Its threads wait for a core; JavaScript itself has but one thread, and gains nothing by a second core.
  'api-threadpool': () => ({ name: 'CORES', value: 'all' }),
  'api-gc': () => ({ name: 'MAX_OLD_SPACE_MB', value: '2048' }),
}

/**
 * @typedef {Record<string, string | number | null>} Settings as they were read back
 * @typedef {{ name: string, value: string }} Notch
 */

/**
 * @param {string | undefined} resource
 * @param {Settings} settings
 * @returns {string | null} the cell in which it is relaxed, such as POOL_MAX=4; null: it is no knob of ours
 */
export function relaxedCell(resource, settings) {
  const notch = NOTCHES[resource ?? '']?.(settings)
  return notch ? `${notch.name}=${notch.value}` : null
}

/**
 * The place of a target, with the limit relaxed that the cell names.
 *
 * @param {import('./run.js').Place} place
 * @param {string | null} cell such as POOL_MAX=4; null: as it is
 * @returns {import('./run.js').Place}
 */
export function relaxed(place, cell) {
  const [name, value] = cell?.split('=') ?? []
  if (!name) return place
  if (name === 'NOFILE') return { ...place, nofile: Number(value) }
  if (name === 'CORES') return { ...place, cores: place.allCores }
  if (name === 'MAX_OLD_SPACE_MB')
    return { ...place, nodeFlags: [...(place.nodeFlags ?? []), `--max-old-space-size=${value}`] }
  return { ...place, env: { ...place.env, [name]: value } }
}

/**
 * What the runs of the edge say: relaxed, it has to hold where it did not hold before.
 *
 * @param {Pick<import('./trial.js').TrialRecord, 'outcome' | 'cell'>[]} trials as it was (cell null) and relaxed
 * @returns {boolean | null} null: they do not say
 */
export function moved(trials) {
  const verdicts = (/** @type {boolean} */ relaxed) => {
    return trials.filter(({ cell }) => (cell !== null) === relaxed).map(({ outcome }) => outcome.verdict)
  }
  const [before, after] = [verdicts(false), verdicts(true)].map((all) => all.filter((verdict) => verdict !== 'invalid'))
  if (before.length === 0 || after.length === 0) return null
  const passes = after.filter((verdict) => verdict === 'pass').length
  return !before.includes('pass') && passes * 2 > after.length
}

/** @param {string} name @param {string | number | null} value @param {number} factor @param {number} [most] @returns {Notch | null} */
function times(name, value, factor, most = Number.MAX_SAFE_INTEGER) {
  return typeof value === 'number' ? { name, value: String(Math.min(value * factor, most)) } : null
}
