import { bundle } from '../support/bundle.js'

await bundle('test/unit/tuning')
