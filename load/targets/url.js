import { keptUrl } from '../command/credentials.js'

/** @import { Target } from './index.js' */

/**
 * A service that already runs: the lab does not start or configure it, and does not empty or count its rows.
 * @param {string} url @param {{ metricsUrl?: string | null, shownUrl?: string, processes?: { pid: number, name: string }[] }} [options]
 *   shownUrl: without secrets; processes: the service's, on this machine @returns {Target}
 */
export function openUrl(url, { metricsUrl = null, shownUrl = keptUrl(url), processes = [] } = {}) {
  const nothing = { adminUrl: null, pid: null, cores: null, settings: {}, countsRows: false, stop: async () => {} }
  return { kind: 'url', url, shownUrl, metricsUrl, processes, ...nothing, died: new Promise(() => {}) }
}
