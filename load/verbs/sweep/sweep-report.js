import { renderReport, sweepSentence } from './report.js'
import { sweepPictures } from './sweep-pictures.js'

/** @import { Report } from '../../report/write.js' */

/** How a sweep is shown. @type {Report} */
export const SWEEP_REPORT = { markdown: renderReport, sentence: sweepSentence, pictures: sweepPictures }
