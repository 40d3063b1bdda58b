import { whereAndWhen } from '../../load/run/old.js'
import { EXERCISES } from './exercises/index.js'
import { trialsByName } from './trials.js'

/**
 * @import { Report } from '../../load/report/old/write.js'
 * @import { Exercise } from './exercise.js'
 */

/**
 * What was measured for an exercise, as its folder shows it.
 *
 * @type {Report}
 */
export const EXERCISE_REPORT = {
  markdown(run, records) {
    const { title, evidence } = exerciseOf(run)
    const found = { facts: run.plan.facts, trials: trialsByName(records), answers: {} }
    const parts = [
      `# Redline workshop: ${title}`,
      evidence(found),
      '## Where',
      [`- ${run.pinning}`, whereAndWhen(run)].join('\n'),
    ]
    return `${parts.join('\n\n')}\n`
  },

  sentence(run, records) {
    const trials = `${records.length} ${records.length === 1 ? 'trial' : 'trials'}`
    return `What was measured for the exercise "${exerciseOf(run).title}", in ${trials}.`
  },

  pictures: () => [],
}

/** @param {any} run @returns {Exercise} */
function exerciseOf({ plan }) {
  const exercise = EXERCISES.find(({ id }) => id === plan.exercise)
  if (!exercise) throw new Error(`expected the id of an exercise, got ${plan.exercise}`)
  return exercise
}
