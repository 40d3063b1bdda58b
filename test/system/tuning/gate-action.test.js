import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../../support/lab.js'

const ACTION = fileURLToPath(new URL('../../../tuning/experiments/gate/action.sh', import.meta.url))

/** Nothing of git but its program: neither what a hook that runs the tests has set, nor the settings of who runs them. @param {string} home */
function environmentOf(home) {
  return { PATH: process.env.PATH, HOME: home, GIT_CONFIG_NOSYSTEM: '1' }
}

/** A repository with a merge, and a clone of it with only so many commits. @param {any} t @param {number} depth */
function cloneOf(t, depth) {
  const folder = temporaryFolder(t)
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@a.test', '-c', 'commit.gpgsign=false']
  const env = environmentOf(folder)
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', ['-C', `${folder}/origin`, ...identity, ...args], {
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  fs.mkdirSync(`${folder}/origin`)
  git('init', '--quiet', '--initial-branch=main')
  git('commit', '--quiet', '--allow-empty', '--message=base')
  const base = git('rev-parse', 'HEAD')
  git('checkout', '--quiet', '-b', 'change')
  git('commit', '--quiet', '--allow-empty', '--message=change')
  git('checkout', '--quiet', 'main')
  git('merge', '--quiet', '--no-ff', '--message=merge', 'change')
  const head = git('rev-parse', 'HEAD')
  const clone = `${folder}/clone`
  execFileSync('git', ['clone', '--quiet', `--depth=${depth}`, `file://${folder}/origin`, clone], {
    env,
    stdio: 'pipe',
  })
  return { folder, clone, base, head }
}

/** The action's first step; the gate itself is a program that says with what it was called. @param {ReturnType<typeof cloneOf>} where @param {Record<string, string>} env */
function measured({ folder, clone }, env) {
  fs.mkdirSync(`${folder}/bin`, { recursive: true })
  fs.writeFileSync(`${folder}/bin/node`, '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
  const own = environmentOf(folder)
  const given = { ...own, PATH: `${folder}/bin:${own.PATH}`, RUNNER_TEMP: folder, GITHUB_OUTPUT: `${folder}/output` }
  const { status, stdout, stderr } = spawnSync('bash', [ACTION, 'measure'], {
    cwd: clone,
    env: { ...given, ...env },
    encoding: 'utf8',
  })
  return { status, stderr, base: /--base (\S+)/.exec(stdout)?.[1] ?? null }
}

t.test('the gate action compares with its input, the base of the pull request, or where it left it', async (t) => {
  const where = cloneOf(t, 5)
  const merge = { GITHUB_REF: 'refs/pull/7/merge', GITHUB_SHA: where.head }
  const baseOf = (/** @type {Record<string, string>} */ env) => measured(where, env)
  t.match(baseOf({ ...merge, BASE: 'v1.2', BASE_SHA: where.base }), { status: 0, base: 'v1.2' })
  t.match(baseOf({ ...merge, BASE_SHA: where.base }), { status: 0, base: 'HEAD^1' })
  t.match(baseOf({ BASE_SHA: where.base }), { status: 0, base: where.base })
})

t.test('the gate action says what it needs where it cannot know what to compare with', async (t) => {
  const where = cloneOf(t, 1)
  const merge = { GITHUB_REF: 'refs/pull/7/merge', GITHUB_SHA: where.head, BASE_SHA: where.base }
  const without =
    "expected a pull request, or a commit to compare with, got neither: set the input 'base' to a commit, branch or tag"
  t.strictSame(measured(where, { GITHUB_REF: 'refs/heads/main', BASE_SHA: '' }), {
    status: 2,
    stderr: `redline gate: ${without}\n`,
    base: null,
  })
  const one = "expected the parent of the merge, got a checkout of one commit: set 'fetch-depth: 2' of actions/checkout"
  t.strictSame(measured(where, merge), { status: 2, stderr: `redline gate: ${one}\n`, base: null })
  const history =
    "expected the history of HEAD back to the pull request's base, got a checkout without it: set 'fetch-depth: 0' of actions/checkout"
  t.strictSame(measured(where, { BASE_SHA: where.base }), {
    status: 2,
    stderr: `redline gate: ${history}\n`,
    base: null,
  })
})
