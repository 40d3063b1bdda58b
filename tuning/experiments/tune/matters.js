/** @import { Elasticity } from '../../../load/report/record.js' */

/** Knobs that act on one resource alone. Others, such as INSERT_MODE, act on several. @type {Record<string, string[]>} */
const ACT_ON = {
  'api-cpu': ['PASSWORD_STORAGE', 'LOG_LEVEL', 'SEMI_SPACE_MB', 'NODE'],
  'pool-size': ['POOL_MAX'],
}
/** A knob that halves the work of a resource is a very good one. */
const BEST_FACTOR = 2
/** A gain up to this share is not much. */
const LITTLE = 0.2

/**
 * Tells which knobs can raise the capacity: those that act on a resource whose speed moves the throughput. The upper end of a
 * resource's interval bounds what the best knob could gain there.
 * @param {Elasticity[]} elasticities @param {string[]} knobs that the matrix turns @returns {string[]} sentences
 */
export function canMatter(elasticities, knobs) {
  const all = [...new Set(elasticities.map(({ resource }) => resource))].map((resource) => {
    const own = elasticities.filter((one) => one.resource === resource)
    const isSure = own.some(({ low }) => low !== null && low > 0)
    return { resource, help: helpOf(own[0]), most: mostOf(own), isSure, turned: turnedIn(resource, knobs) }
  })
  const much = all.filter(({ most }) => most > LITTLE)
  const can = much.flatMap(({ help, isSure }) => (isSure ? help : []))
  const open = much.flatMap(({ help, isSure }) => (isSure ? [] : help))
  const cannot = all
    .filter(({ resource, most }) => most <= LITTLE && resource !== 'generator-cpu')
    .map(({ help, most, turned }) => `${help} would gain at most ${Math.round(most * 100)} %${turned}`)
  return [
    ...(can.length > 0 ? [`What can raise its capacity: ${can.join('; ')}.`] : []),
    ...(cannot.length > 0 ? [`What cannot raise it by much: ${cannot.join('; ')}.`] : []),
    ...(open.length > 0 ? [`Not decided: ${open.join('; ')}.`] : []),
    ...(much.length === 0
      ? ['What limits it was not slowed: a disk, a lock or the way to the database, for example.']
      : []),
  ]
}

/** @param {Elasticity} elasticity */
function helpOf({ suspect, resource, factor }) {
  if (factor) return `a pool ${factor} times as large`
  return resource === 'generator-cpu' ? 'a cheaper generator' : `halving the work of ${suspect}`
}

/** The most that a knob can gain there, as a share. @param {Elasticity[]} own */
function mostOf(own) {
  const gains = own.map(({ high, factor = BEST_FACTOR }) => factor ** Math.max(0, high ?? Number.POSITIVE_INFINITY) - 1)
  return Math.max(...gains)
}

/** @param {string} resource @param {string[]} knobs */
function turnedIn(resource, knobs) {
  const own = knobs.filter((name) => ACT_ON[resource]?.includes(name))
  return own.length > 0 ? ` (${own.join(', ')} can do no more)` : ''
}
