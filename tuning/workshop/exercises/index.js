import { batching } from './batching.js'
import { files } from './files.js'
import { hash } from './hash.js'
import { knee } from './knee.js'
import { liar } from './liar.js'
import { little } from './little.js'
import { loops } from './loops.js'
import { neighbour } from './neighbour.js'
import { overload } from './overload.js'
import { timeout } from './timeout.js'

/** @import { Exercise } from '../exercise.js' */

/**
 * In the order in which each needs the ones before.
 *
 * @type {Exercise[]}
 */
export const EXERCISES = [knee, loops, liar, little, timeout, files, batching, overload, hash, neighbour]
