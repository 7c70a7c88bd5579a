#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# A job of four processes: a change goes to all of them or to none, whoever
# dies in the middle of it, and all ranks change at the same decision.
. "$TOP/test/integration/control/lib.sh"
comm=ab00000000000000

sockets() { awk '/^socket \// { print $2 }' "$T/host.out"; }
# all NAME TEXT LINE...: requests to every process; each last reply holds TEXT.
# all_soon: for what the ranks do next.
all_soon() { wait_for=await && all "$@"; }
wait_for=
asked() {
	ask "$@"
	holds "$text"
}
all() {
	name=$1 text=$2
	shift 2
	for S in $(sockets); do
		[ -S "$S" ] || continue
		$wait_for asked "$@" && continue
		printf '%s: not found: %s\n%s\n' "$S" "$text" "$R" >"$T/why"
		not_ok "$name" "$T/why"
		wait_for=
		return
	done
	wait_for=
	ok "$name"
}
digest() { printf '%s' "$R" | sed 's/.*"change":"\([0-9a-f]*\)".*/\1/'; }
first() { S=$(sockets | head -n 1); }

host --ranks 4 --procs 4
check "each process has its socket" test "$(sockets | wc -l)" -eq 4
all "each process sees the whole job" '"shared":true,"processes":4' status
all "and holds one rank of the communicator" '"ranks":4,"local_ranks":4' "comm list"
for p in ring tree choice; do
	all "policy load $p" '"ok":true' "!fd $P/$p.policy" "policy load $p"
done

# ---- one process cannot move alone
first
refuses "policy use in one process of four" refused "policy use ring"
ask "change status"
says "leaves nothing staged" '"staged":null'

# ---- all staged, one commits
all "policy use commit=no" '"state":"staged"' "policy use ring commit=no"
d=$(digest)
all "the digest is the same in all" "\"staged\":\"$d\"" "change status"
first
ask "change commit $d"
says "change commit" '"state":"committed"' '"comm":"'$comm '"ranks":4'
settle
all_soon "every process decides by it" '"by":"ring"' "decision tail count=1"
all_soon "and says so" '"policies":["ring"]' status
all "nothing is staged any more" '"staged":null' "change status"

# ---- another order, worked out in each process
all "policy add commit=no" '"state":"staged"' "policy add tree position=first commit=no"
d=$(digest)
all "is the same digest in all" "\"staged\":\"$d\"" "change status"
first
ask "change commit $d"
says "and commits" '"state":"committed"'
settle
all_soon "every process has that order" '"policies":["tree","ring"]' status

# ---- a coherent map and the policy's content
all "policy use choice commit=no" '"state":"staged"' "policy use choice commit=no"
d=$(digest)
first
ask "change commit $d"
settle
all "map set commit=no" '"state":"staged"' \
	"map set choice 00000000 0200000003000000 commit=no"
d=$(digest)
first
ask "change commit $d"
says "a map change commits" '"state":"committed"'
settle
all_soon "every process reads the new content" '"value":"0200000003000000"' \
	"map get choice 00000000"
all_soon "and decides by it" \
	'"answer":{"algo":"ring","proto":"simple","channels":0},"by":"choice"' \
	"decision tail count=1"
all "undo commit=no" '"state":"staged"' "policy undo commit=no"
d=$(digest)
first
ask "change commit $d"
says "undo commits" '"state":"committed"'

# ---- a client that goes between staging and committing
n=0
for S in $(sockets); do
	n=$((n + 1))
	[ $n -le 2 ] && ask "policy use tree commit=no"
done
d=$(digest)
first
refuses "two of four have not staged" refused "change commit $d"
all "the next change replaces what was left" '"state":"staged"' "policy use ring commit=no"
d=$(digest)
first
ask "change commit $d"
says "and commits" '"state":"committed"'
settle
alive "after changes"

# ---- a process dies
last=$(sockets | tail -n 1)
kill -9 "$(basename "$last" | cut -d. -f4)"
first
alive "after one process was killed"
ask status
soon "the others notice" '"processes":3'
for S in $(sockets); do
	[ "$S" = "$last" ] || ask "policy use tree commit=no"
done
d=$(digest)
first
ask "change commit $d"
says "a change after a death goes to those that live" '"state":"committed"'
S=$(sockets | sed -n 2p)
ask "decision tail count=1"
soon "and they decide by it" '"by":"tree"'
alive "after that change"
first
stop "a job that lost a process"
check "only the killed process's socket is left" test "$(ls "$T/s" | grep -c 'sock$')" -eq 1
done_testing
