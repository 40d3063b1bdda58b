#!/usr/bin/env bash
# The steps of action.yml. measure: runs the gate, and keeps its exit code. comment: puts what it found where people look.
# Needs, of what GitHub provides: RUNNER_TEMP, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY; for a comment, also OUT (an output of the first step),
# GH_TOKEN and PULL_REQUEST.
set -euo pipefail
redline=$(cd "$(dirname "$0")/../../.." && pwd)

# What to compare with, if the workflow does not say: by default, GitHub checks out a merge of the pull request into its base as it is now.
base() {
  if [ -n "${BASE:-}" ]; then
    echo "$BASE"
  elif [ -z "${BASE_SHA:-}" ]; then
    refuse "expected a pull request, or a commit to compare with, got neither: set the input 'base' to a commit, branch or tag"
  elif [[ ${GITHUB_REF:-} == refs/pull/*/merge && $(git rev-parse HEAD) == "${GITHUB_SHA:-}" ]]; then
    git rev-parse -q --verify 'HEAD^1' >/dev/null ||
      refuse "expected the parent of the merge, got a checkout of one commit: set 'fetch-depth: 2' of actions/checkout"
    echo 'HEAD^1'
  else
    git merge-base HEAD "$BASE_SHA" 2>/dev/null ||
      refuse "expected the history of HEAD back to the pull request's base, got a checkout without it: set 'fetch-depth: 0' of actions/checkout"
  fi
}

refuse() {
  echo "redline gate: $1" >&2
  exit 2
}

measure() {
  local out base
  base=$(base)
  # A job may run the gate more than once.
  out=$(mktemp -d "$RUNNER_TEMP/redline-gate-XXXXXX")/run
  echo "out=$out" >>"$GITHUB_OUTPUT"
  [ -d "$redline/node_modules" ] || (cd "$redline" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund >/dev/null)
  local flags=(--base "$base" --out "$out")
  [ -z "${START:-}" ] || flags+=(--start "$START" --path "${URL_PATH:-/}")
  [ -z "${BUILD:-}" ] || flags+=(--build "$BUILD")
  # shellcheck disable=SC2206 # several words are meant
  flags+=(${FLAGS:-})
  local code=0
  env -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STEP_SUMMARY -u GITHUB_STATE \
    node "$redline/tuning/cli.js" gate "${flags[@]}" || code=$?
  local verdict="const { problem, interrupted, verdict } = JSON.parse(fs.readFileSync('$out/run.json')); problem || interrupted ? 'unknown' : verdict"
  echo "verdict=$(node -p "$verdict" 2>/dev/null || echo unknown)" >>"$GITHUB_OUTPUT"
  return "$code"
}

comment() {
  local out=${OUT:-}
  [ -f "$out/comment.md" ] || return 0
  cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
  [ -n "${PULL_REQUEST:-}" ] || return 0
  gh api "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" -F "body=@$out/comment.md" --silent ||
    echo 'no comment: this token may not write one (pull-requests: write); the summary has it'
}

"$1"
