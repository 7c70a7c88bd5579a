#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Segments of killed jobs stay for post mortem, within NCCLBPF_KEEP_SEGMENTS and its hours. One
# command removes them. What a living process uses stays, also of another PID namespace.
if [ -z "${OWN_NS:-}" ]; then
	probe='mount -t tmpfs x /mnt && unshare --pid --fork --mount-proc true'
	if ! unshare -rm sh -c "$probe" 2>/dev/null; then
		echo "1..0 # SKIP segments: no namespaces of our own"
		exit 0
	fi
	OWN_NS=1 exec unshare -rm sh "$0"
fi
. "$TOP/test/integration/shell_lib.sh"
need_host "segments"
there() { [ -e "$T/s/$1.seg" ]; }
ended() { ! "$S" -o tsv list 2>/dev/null | grep -q "^$1"; }
# killed JOB AGE: a job of that name that was killed, its segment so old
killed() {
	job "$1" --ranks 1
	kill -9 "$(rank_pid "$1" 0)"
	await ended "$1"
	: >"$T/s/$1.loop"
	touch -d "$2" "$T/s/$1.seg"
}

export NCCLBPF_KEEP_SEGMENTS=100
killed one "4 hours ago"
killed two "3 hours ago"
killed three "2 hours ago"
job beside --containers --ranks 1
run -o tsv segment list
[ "$(grep -c ended "$T/out")" -eq 3 ] && grep -q '^beside.*in use' "$T/out"
ok "killed jobs leave segments; one in another PID namespace is in use" $?
NCCLBPF_KEEP_SEGMENTS=2 job live --ranks 1
there two && there three && ! there one && [ ! -e "$T/s/one.loop" ]
ok "the first process of a job keeps the newest two, and no mailbox of the third" $?
grep -q '1 segments of ended jobs with [0-9]* KiB were removed' "$T/live.err"
ok "which the log says" $?
status 0 "check agreement reads what stays" check agreement segment="$T/s/three.seg"
status 0 "doctor" -J live -o json doctor
has "doctor counts them" out "2 segments of ended jobs take" "NCCLBPF_KEEP_SEGMENTS"
ends 1 not_found "a job without a leftover" segment remove live
status 0 "one is removed" segment remove two
there three && ! there two
ok "and no other" $?
NCCLBPF_KEEP_SEGMENTS_HOURS=1 job later --ranks 1
! there three
ok "one that is older than NCCLBPF_KEEP_SEGMENTS_HOURS goes" $?
killed four now
: >"$T/s/notes.seg.txt"
echo "a brain, segmented" >"$T/s/brain.seg"
run -o tsv segment list
grep -q '^four' "$T/out" && ! grep -q '^brain' "$T/out"
ok "a file that is no segment is not listed" $?
: >"$T/s/live.seg.4711"
: >"$T/s/live.loop"
touch -d "2 hours ago" "$T/s/live.seg.4711"
status 0 "all are removed" segment remove all
has "the command says how many" out "2 segments of ended jobs removed"
there live && there beside && there later && [ -e "$T/s/notes.seg.txt" ] && ! there four
ok "segments in use stay, and other files" $?
there brain
ok "a file of the user that is no segment stays, whatever its name" $?
[ -e "$T/s/live.loop" ] && [ ! -e "$T/s/live.seg.4711" ]
ok "an unfinished segment of a job that lives goes, and the job's mailbox stays" $?
status 0 "a running job decides on" -J live policy use none
finish
