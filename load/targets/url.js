import { keptUrl } from '../command/credentials.js'

/** @import { Target } from './index.js' */

/**
 * A service that already runs. Nothing of it is started, set, emptied or counted.
 *
 * @param {string} url
 * @param {object} [options]
 * @param {string | null} [options.metricsUrl] what it tells of itself
 * @param {string} [options.shownUrl] the URL as it may be written down
 * @returns {Target}
 */
export function openUrl(url, { metricsUrl = null, shownUrl = keptUrl(url) } = {}) {
  return {
    kind: 'url',
    countsRows: false,
    url,
    shownUrl,
    adminUrl: null,
    metricsUrl,
    pid: null,
    cores: null,
    settings: {},
    died: new Promise(() => {}),
    stop: async () => {},
  }
}
