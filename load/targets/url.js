/**
 * A service that already runs. Nothing of it is started, set, emptied or counted.
 *
 * @param {string} url
 * @param {string | null} [metricsUrl] what it tells of itself
 * @returns {import('./index.js').Target}
 */
export function openUrl(url, metricsUrl = null) {
  return {
    kind: 'url',
    countsRows: false,
    url,
    adminUrl: null,
    metricsUrl,
    pid: null,
    cores: null,
    settings: {},
    died: new Promise(() => {}),
    stop: async () => {},
  }
}
