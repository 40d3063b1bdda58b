import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * The working tree: the commit that it is based on, and its files under version control whose changes no commit has. Git locks and writes
 * nothing here, so that the repository stays untouched. This serves only warnings, so a failure of git does not end the run.
 * @param {AbortSignal} signal @returns {Promise<WorkingTree>} @throws only the signal's reason
 * @typedef {{ commit: string | null, uncommitted: string[] | null }} WorkingTree null: git failed
 */
export async function workingTree(signal) {
  const [commit, status] = await Promise.all([
    gitLines(['rev-parse', 'HEAD'], signal),
    gitLines(['--no-optional-locks', 'status', '--porcelain', '--untracked-files=no'], signal),
  ])
  return { commit: commit?.[0] ?? null, uncommitted: status?.map((line) => line.slice(3)) ?? null }
}

/** @param {string[]} args @param {AbortSignal} signal @returns {Promise<string[] | null>} null: git failed */
async function gitLines(args, signal) {
  try {
    const { stdout } = await promisify(execFile)('git', args, { signal, maxBuffer: Number.POSITIVE_INFINITY })
    return stdout.split('\n').filter(Boolean)
  } catch {
    signal.throwIfAborted()
    return null
  }
}

/**
 * Warnings if the gate is about to compare something other than the user's change. Pure.
 * @param {Record<string, string>} commits by side @param {WorkingTree} tree
 */
export function refWarnings({ base, head }, { commit, uncommitted }) {
  const [first, ...others] = commit === head ? (uncommitted ?? []) : []
  const files = others.length > 0 ? `${first} and ${others.length} more` : first
  return [
    ...(first ? [`uncommitted changes are not measured, since head is the commit ${head.slice(0, 7)}: ${files}`] : []),
    ...(uncommitted ? [] : ['uncommitted changes were not looked for, since git status failed: run it to see why']),
    ...(base === head ? [`base and head are the same commit, ${head.slice(0, 7)}, so only chance can differ`] : []),
  ]
}
