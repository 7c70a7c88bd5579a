#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Decisions that take too long. A change whose policies may run longer than
# NCCLBPF_MAX_RUN is refused, and the job keeps its policies. A rank that stays
# inside one decision is named by doctor, status and its own log; a change that
# is made meanwhile names the ranks that have not passed its fence.
. "$TOP/test/integration/control/lib.sh"
SH_OPTIONS='-J t'
export NCCLBPF_SOCKET_DIR="$T/s" NCCLBPF_JOB=t
tree=$B/test/corpus/answers/only_tree.policy
ring=$B/test/corpus/answers/ring_ll_four.policy
long=$B/test/corpus/shell/long_run.bpf.o

not_told() { ! told "$1" >"$T/found"; }

# Rank 2 of four processes hangs in the tuner behind ours while $T/hang is there.
# The others may be far ahead of it, so that they pass fences meanwhile.
CHAIN_HANGS=$T/hang
export CHAIN_HANGS
NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCL_DEBUG=INFO NCCLBPF_POLICY=$tree \
	NCCLBPF_MAX_RUN=4096 NCCLBPF_CHAIN_TUNER="$B/test/fakes/wrapped/tuner_v5.so" \
	CHAIN_DOES=hang:2 timeout 0 "$B/test/fakes/host/standin" --procs --ranks 4 \
	--min 4M --max 4M --pause-ms 100 --ahead 4000 --seconds inf >"$T/log" 2>&1 &
HOST=$!
begun() { sh_ 0 -j comm list && told '"decisions":[1-9]'; }
await begun >"$T/await"

# ---- the length of a run
check "a policy that one program alone could run" sh_ 0 policy load "$long"
check "its use is refused" sh_ 65 -j policy use long_run
check "the error names the limit, and the loop by its line" told '"code":"over_limit"' 4096 \
	'long_run.bpf.c:[0-9]'
check "status: the job keeps its policy" sh_ 0 -j status
check "which is the one that it began with, and no other" told '"policies":\["only_tree"\]'
check "a chain with it is refused as well" sh_ 65 policy add long_run
check "nothing was changed" sh_ 0 -j change status
check "no change is left over" told '"staged":null'

# ---- a rank inside one decision
check "at first doctor reports no late rank" sh_ 0 doctor
: >"$T/hang"
late() { sh_ 2 -r 2 -o table doctor && told "rank slot [0-3] has been inside decision"; }
check "doctor of rank 2 reports that it has been inside one decision" await late
slot=$(sed -n 's/.*rank slot \([0-3]\) has been inside decision.*/\1/p' "$T/out" "$T/err" | head -1)
# On a busy machine another rank may be late for a moment.
alone() { # status, words
	sh_ "$1" -o table "$2" &&
		told "rank slot $slot has been inside decision [0-9]* for [0-9]* s" &&
		[ "$(cat "$T/out" "$T/err" | grep -c 'has been inside decision')" -eq 1 ]
}
check "doctor of all ranks reports this rank alone" await alone 2 doctor
check "status reports the same rank alone" await alone 0 status
for rank in 0 1 3; do
	check "doctor of rank $rank reports no late rank" await sh_ 0 -r $rank doctor
done
logged() {
	[ "$(grep -c "rank slot $slot: decision [0-9]* has taken over [0-9]* s" "$T/log")" -eq 1 ]
}
check "the log names this slot once" await logged

# ---- a change meanwhile
check "a policy for a change" sh_ 0 policy load "$ring"
check "the change is made" sh_ 0 -j policy use ring_ll_four
check "its reply names the rank among those that have not passed" told \
	"\"behind\":\[[0-9,]*$slot[0-9,]*\]"
only() { sh_ 0 -j change status && told "\"passed\":3,\"behind\":\[$slot\]"; }
check "the others pass the fence, and it is the only one behind" await only
check "change status -o wide" sh_ 0 -o wide change status
check "has a column for it" told "PASSED *BEHIND" " 4  *3  *$slot\( \|\$\)"

# ---- it goes on
rm -f "$T/hang"
passed() { sh_ 0 -j change status && told '"passed":4' '"behind":\[\]'; }
check "the rank goes on: all have passed, nobody is behind" await passed
fine() { sh_ 0 -o table doctor && not_told "has been inside decision"; }
check "doctor: no rank is late" await fine
check "status" sh_ 0 -o table status
check "says nothing more" not_told "has been inside decision"
kill -TERM "$HOST"
wait "$HOST"
rc=$?
HOST=
check "all ranks took the same choices to the end" test $rc -eq 0
done_testing
