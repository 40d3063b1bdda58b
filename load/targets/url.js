/**
 * A service that already runs. Nothing of it is started, set, emptied or counted.
 *
 * @param {string} url
 * @returns {import('./index.js').Target}
 */
export function openUrl(url) {
  return {
    kind: 'url',
    countsRows: false,
    url,
    adminUrl: null,
    pid: null,
    cores: null,
    settings: {},
    died: new Promise(() => {}),
    stop: async () => {},
  }
}
