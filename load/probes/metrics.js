/**
 * A page in Prometheus' text format, asked for again and again.
 *
 * @typedef {object} Metrics one look at it
 * @property {(name: string) => number | null} sum over all labels; null: there is no such metric
 * @property {(name: string, label: string) => Record<string, number>} by values of one label
 */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/**
 * @param {string} url
 * @param {number} timeout_ms
 * @returns {Promise<Metrics | null>} null: no answer in time, or no such page
 */
export async function readMetrics(url, timeout_ms) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeout_ms) })
    return answer.ok ? parseMetrics(await answer.text()) : null
  } catch {
    return null
  }
}

/** @param {string} text @returns {Metrics} */
export function parseMetrics(text) {
  const rows = text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? []
    return name ? [{ name, labels, value: Number(value) }] : []
  })
  return {
    sum: (name) => {
      const values = rows.filter((row) => row.name === name).map(({ value }) => value)
      return values.length === 0 ? null : values.reduce((sum, value) => sum + value)
    },
    by: (name, label) => {
      const own = rows.filter((row) => row.name === name)
      return Object.fromEntries(own.map(({ labels, value }) => [labelsOf(labels)[label] ?? '', value]))
    },
  }
}

/** @param {string} text @returns {Record<string, string>} */
function labelsOf(text) {
  return Object.fromEntries([...text.matchAll(LABEL)].map(([, name, value]) => [name, value]))
}
