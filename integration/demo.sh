#!/bin/sh
# The README's story: two stores mounted, one of them read-only, edited with
# ordinary tools, and what happens around them. Needs no key and no network: the
# store is the embedded one, served on this host. Everything lies in a temporary
# directory and is gone at the end. Exits non-zero when anything is not as told.
#
#   MEMFS=path/to/memfs sh integration/demo.sh      (or: make demo)
set -eu

memfs=${MEMFS:-./memfs}
case $memfs in /*) ;; *) memfs=$PWD/$memfs ;; esac
dir=$(mktemp -d)
server=
unset MEMFS_LOCAL ANTHROPIC_AUTH_TOKEN
export MEMFS_LOG_LEVEL=warn MEMFS_SYNC_INTERVAL=1s
# Processes of the demo are found by their own sockets, not by those of others.
RUNTIME_DIRECTORY=$dir/run
export RUNTIME_DIRECTORY

cleanup() {
  code=$?
  trap - EXIT
  cd /
  "$memfs" unmount --all 2>/dev/null || true
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ $code = 0 ] || cat "$dir"/*.log "$dir"/state*/memfs.log 2>/dev/null || true
  rm -rf "$dir"
  exit $code
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

n=0
step() { n=$((n + 1)); printf '%2d. %s\n' "$n" "$*"; }
fail() { printf 'not as told: %s\n' "$*" >&2; exit 1; }
has()  { grep -qxF -- "$2" "$1" || fail "$1 does not have the line: $2"; }
lacks() { ! grep -qxF -- "$2" "$1" || fail "$1 still has the line: $2"; }
soon() { # until the command holds, at most 20 s
  i=0
  until "$@" 2>/dev/null; do
    i=$((i + 1))
    [ $i -lt 200 ] || fail "after 20 s: $*"
    sleep 0.1
  done
}

# A server, two stores, and a colleague's machine: the same store mounted
# elsewhere, with a state directory of its own.
"$memfs" serve --local "$dir/stores" --listen 127.0.0.1:0 >"$dir/env" 2>"$dir/serve.log" &
server=$!
soon grep -q API_KEY "$dir/env"
. "$dir/env"
notes=$("$memfs" store create notes)
handbook=$("$memfs" store create handbook)
mine=$dir/mnt/notes theirs=$dir/colleague/notes
"$memfs" mount "$notes:$theirs" "$handbook:$dir/colleague/handbook" --state-dir "$dir/state-colleague" --daemon
printf 'ship: friday\nowner: ada\n' >"$theirs/plan.md"
echo 'likes tea' >"$theirs/ada.md"
echo 'old' >"$theirs/old.md"
echo 'be kind' >"$dir/colleague/handbook/rules.md"
"$memfs" sync
step "a store server at $ANTHROPIC_BASE_URL; a colleague wrote some memories"

"$memfs" mount notes:"$mine" handbook:"$dir/mnt/handbook":ro --state-dir "$dir/state" --daemon
cd "$mine"
step 'mounted: notes, and handbook read-only'
step "ls:  $(echo *)"
step "cat plan.md:  $(paste -sd, plan.md)"

echo 'risk: none' >>plan.md
step "echo 'risk: none' >> plan.md"
sed -i 's/friday/monday/' plan.md
step "sed -i 's/friday/monday/' plan.md"
mkdir -p people
mv ada.md people/ada.md
step 'mkdir people; mv ada.md people/'
rm old.md
step 'rm old.md'
"$memfs" sync "$mine"
soon test -e "$theirs/people/ada.md"
soon grep -q monday "$theirs/plan.md"
soon test ! -e "$theirs/old.md"
has "$theirs/plan.md" 'risk: none'
[ ! -e "$theirs/ada.md" ] || fail 'ada.md is still where it was'
step "after memfs sync the colleague has:  $(cd "$theirs" && find . -name '*.md' | sort | paste -sd' ')"

echo 'room: 4.12' >"$theirs/meeting.md"
soon test -e meeting.md
step "the colleague writes meeting.md; here it arrives by itself:  $(cat meeting.md)"

# Both change the same memory before either hears of the other.
echo 'owner: bob' >plan.md
echo 'owner: grace' >"$theirs/plan.md"
"$memfs" sync "$theirs"
"$memfs" sync "$mine"
soon grep -qx 'owner: grace' plan.md
step "both change plan.md, the store wins:  $(cat plan.md)"
"$memfs" status "$mine" --json | grep -q '"conflicts": 1' || fail 'the losing text is not kept'
step "the text that lost is kept in the state directory: memfs status counts 1 conflict"

echo 'be bold' >"$dir/mnt/handbook/rules.md"
"$memfs" sync
has "$dir/colleague/handbook/rules.md" 'be kind'
step "writing into the read-only store changes the copy here only; the colleague has:  $(cat "$dir/colleague/handbook/rules.md")"

echo 'last words' >farewell.md
step 'echo last words > farewell.md, and at once memfs unmount'
cd /
"$memfs" unmount "$mine"
[ ! -e "$dir/mnt" ] || fail "$dir/mnt is still there"
! grep -q " $dir/mnt" /proc/self/mounts || fail 'still mounted'
soon test -e "$theirs/farewell.md"
step "the final pass sent it:  $(cat "$theirs/farewell.md"); both mounts and their directories are gone"

"$memfs" unmount --all
[ ! -e "$dir/colleague" ] || fail "$dir/colleague is still there"

# The whole worker, with no key: a scripted session on a store of its own.
cat >"$dir/session.yaml" <<'END'
stores:
  - {name: notes, memories: {/plan.md: "ship: friday"}}
  - {name: handbook, read_only: true}
calls:
  - tool: edit
    input: {file_path: /mnt/memory/notes/plan.md, old_string: friday, new_string: monday}
  - bash: mv /mnt/memory/notes/plan.md /mnt/memory/notes/done.md
  - tool: write
    input: {file_path: /mnt/memory/handbook/rules.md, content: be bold}
END
step 'memfs rehearse session.yaml: what an agent does through the real worker'
"$memfs" rehearse "$dir/session.yaml" --log-level error >"$dir/rehearsal"
has "$dir/rehearsal" '   renamed and updated /plan.md -> /done.md (12 bytes)'
sed 's/^/      /' "$dir/rehearsal"
step 'done'
