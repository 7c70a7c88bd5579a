#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The client of a job of four processes vanishes after each request of a
# change: what it left is told, the ranks agree, the next change is committed.
. "$TOP/test/integration/control/lib.sh"
export NCCLBPF_SOCKET_DIR="$T/s"

sh_() { timeout 300 "$B/ncclbpf-shell" --no-rc -o tsv -J t "$@"; }
sockets() { awk '/^socket \// { print $2 }' "$T/host.out"; }
# Sent, and gone before there is an answer.
vanish() { printf '!send %s\n' "$1" | timeout 300 "$C/client" "$S" >/dev/null 2>&1; }
digest() { printf '%s' "$R" | sed 's/.*"change":"\([0-9a-f]*\)".*/\1/'; }
# stage N: in so many processes; the first is asked last.
stage() {
	for S in $(sockets | head -n "$1" | tac); do
		ask "policy use ring commit=no"
		d=$(digest)
	done
}
# In how many processes it is staged.
staged() {
	sh_ change status >"$T/status" || return 1
	[ "$(awk -F '\t' -v d="$d" 'NR > 1 && $3 == d { print $2 }' "$T/status" | sort -u |
		wc -l)" -eq "$1" ]
}
# It was read before the client's end was seen, or not.
told() {
	ask "change status"
	case $R in
	*"\"staged\":\"$d\""* | *"\"last\":{\"change\":\"$d\",\"state\":\""*) ;;
	*) return 1 ;;
	esac
}
# A busy machine's ranks may run past every fence that is tried: once more, then.
commits() { sh_ policy use tree; }
answered() { # likewise
	stage 4
	ask "change commit $d"
	holds '"state":"committed"'
}
goes_on() { # name
	check "$1: the ranks agree" sh_ check agreement
	check "$1: the next change is committed" await commits
	check "$1: which leaves nothing staged" staged 0
	settle
}

host --ranks 4 --procs 4
check "a policy" sh_ policy load "$P/ring.policy"
check "and another" sh_ policy load "$P/tree.policy"
for i in 1 2 3 4; do
	stage $i
	check "staged in $i: so says change status" staged $i
	goes_on "staged in $i"
done
for S in $(sockets); do vanish "policy use ring commit=no"; done
check "no answer awaited: the state is told" sh_ change status
goes_on "no answer awaited"
stage 4
vanish "change commit $d"
check "commit sent: staged still, or the last change" told
goes_on "commit sent"
check "commit answered" await answered
check "commit answered: so says change status" told
goes_on "commit answered"
stop "a job whose clients vanish"
done_testing
