# The beginning of a connection to the API's host, run by /bin/sh there: finds Node, and says what is missing. $code and $modules name our
# copies in $cache, and $least_major and $least_minor the oldest Node. Without `timeout`, an installation does not notice a silent network;
# the agent does so by itself.
command -v timeout >/dev/null || timeout() { shift; "$@"; }
# A version manager's Node is on PATH only in a login or an interactive shell. These run the user's startup files, so they come last.
node= first=
for how in "" -lc -lic; do
  if [ -z "$how" ]; then found=$(command -v node); else found=$("${SHELL:-sh}" $how 'command -v node' </dev/null 2>/dev/null | tail -n 1); fi
  [ -x "$found" ] || continue
  version=$("$found" --version </dev/null)
  first="${first:-got $version ($found)}"
  set -- $(echo "$version" | tr v. '  ')
  if [ "$1" -gt $least_major ] || { [ "$1" -eq $least_major ] && [ "$2" -ge $least_minor ]; }; then node=$found && break; fi
done
[ -z "$node" ] || PATH="$(dirname "$node"):$PATH"
say npm $(command -v npm)
say foreign $foreign
# `touch` marks a copy as used.
if [ -d "$cache/$code" ] && touch -c "$cache/$code" "$cache/$modules"; then say code there; else say code missing; fi
say first "${first:-found no node on PATH, nor in a login shell}"
say node "$node"
program=$(mktemp) && exec 4>"$program" 5<"$program" && rm "$program" || exit 1
# When the group is told to end, the installer cleans up, and this shell waits for it.
trap '' TERM
