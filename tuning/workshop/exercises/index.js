import { exerciseOf } from '../exercise.js'
import { batching } from './batching.js'
import { files } from './files.js'
import { hash } from './hash.js'
import { incident } from './incident.js'
import { knee } from './knee.js'
import { liar } from './liar.js'
import { little } from './little.js'
import { loops } from './loops.js'
import { messenger } from './messenger.js'
import { neighbour } from './neighbour.js'
import { overload } from './overload.js'
import { timeout } from './timeout.js'

/** Rules in the order of the exercises, each of which builds on the ones before; the prose of each is in the Markdown file of its name. */
const RULES = { knee, loops, liar, little, timeout, files, batching, overload, hash, neighbour, messenger, incident }

export const EXERCISES = Object.entries(RULES).map(([id, rules], i) => exerciseOf(i + 1, id, rules))
