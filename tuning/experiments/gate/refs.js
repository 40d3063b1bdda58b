import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Files under version control whose changes no commit has; it locks and writes nothing, so that the repository stays untouched.
 * @param {AbortSignal} signal
 */
export async function uncommittedFiles(signal) {
  const asked = ['--no-optional-locks', 'status', '--porcelain', '--untracked-files=no']
  const { stdout } = await promisify(execFile)('git', asked, { signal })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.slice(3))
}

/**
 * Warnings if the gate is about to compare something other than the user's change. Pure.
 * @param {Record<string, string>} commits by side @param {string[]} uncommitted files
 */
export function refWarnings({ base, head }, uncommitted) {
  const [first, ...others] = uncommitted
  const files = others.length > 0 ? `${first} and ${others.length} more` : first
  return [
    ...(first ? [`uncommitted changes are not measured, since head is the commit ${head.slice(0, 7)}: ${files}`] : []),
    ...(base === head ? [`base and head are the same commit, ${head.slice(0, 7)}, so only chance can differ`] : []),
  ]
}
