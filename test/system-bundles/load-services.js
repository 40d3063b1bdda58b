import { bundleFiles } from '../support/bundle.js'
import { SYSTEM_BUNDLES } from '../support/system-bundles.js'

await bundleFiles(SYSTEM_BUNDLES['load-services'])
