/**
 * The lab's mark on a table that it made, kept as the table's comment: which run has it, and what that run left.
 *
 * @typedef {object} Mark
 * @property {string} run run_id
 * @property {string[] | null} own LIKE patterns for the emails that the run's load sends; null: its rows cannot be told
 *   from those of others
 * @property {Left | null} left what was in the table when the run ended in order; null: it is under way, or was killed
 *
 * @typedef {{ rows: string, highest_id?: string | null, digest?: string | null }} Left numbers as text, since they may
 *   exceed 2^53; digest: of the rows, where nothing else tells them from others
 */

const PREFIX = 'redline: made by run '

/** @param {Mark} mark @returns {string} */
export function markText({ run, own, left }) {
  return `${PREFIX}${run}, which empties it. ${JSON.stringify({ run, own, left })}`
}

/**
 * @param {string | null} comment
 * @returns {Mark | null} null: the comment is not a mark of a run
 */
export function readMark(comment) {
  if (!comment?.startsWith(PREFIX)) return null
  try {
    const { run, own, left } = JSON.parse(comment.slice(comment.indexOf('{')))
    return typeof run === 'string' ? { run, own: own ?? null, left: left ?? null } : null
  } catch {
    return null
  }
}
