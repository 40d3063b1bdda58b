import { bundle } from '../support/bundle.js'

await bundle('test/unit/sql')
await bundle('test/unit', { isDeep: false })
