#!/usr/bin/env bash
# The steps of action.yml. measure: runs the gate, and keeps its exit code. comment: puts what it found where people look.
# Needs, of what GitHub provides: RUNNER_TEMP, GITHUB_OUTPUT, GITHUB_STEP_SUMMARY; for a comment, also GH_TOKEN and PULL_REQUEST.
set -euo pipefail
redline=$(cd "$(dirname "$0")/../../.." && pwd)
out=$RUNNER_TEMP/redline-gate

measure() {
  [ -d "$redline/node_modules" ] || (cd "$redline" && npm ci --omit=dev --ignore-scripts --no-audit --no-fund >/dev/null)
  local flags=(--base "$BASE" --out "$out")
  [ -z "${START:-}" ] || flags+=(--start "$START" --path "${URL_PATH:-/}")
  [ -z "${BUILD:-}" ] || flags+=(--build "$BUILD")
  # shellcheck disable=SC2206 # several words are meant
  flags+=(${FLAGS:-})
  local code=0
  env -u GITHUB_ENV -u GITHUB_PATH -u GITHUB_OUTPUT -u GITHUB_STEP_SUMMARY -u GITHUB_STATE \
    node "$redline/tuning/cli.js" gate "${flags[@]}" || code=$?
  echo "verdict=$(node -p "JSON.parse(require('fs').readFileSync('$out/run.json')).verdict" 2>/dev/null || echo unknown)" >>"$GITHUB_OUTPUT"
  return "$code"
}

comment() {
  [ -f "$out/comment.md" ] || return 0
  cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
  [ -n "${PULL_REQUEST:-}" ] || return 0
  gh api "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" -F "body=@$out/comment.md" --silent ||
    echo 'no comment: this token may not write one (pull-requests: write); the summary has it'
}

"$1"
