import { renderReport, sweepSentence } from './report.js'
import { sweepPictures } from './sweep-pictures.js'

/** How a sweep is shown. @type {import('./write.js').Report} */
export const SWEEP_REPORT = { markdown: renderReport, sentence: sweepSentence, pictures: sweepPictures }
