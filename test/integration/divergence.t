#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Ranks that part while a job runs: a change is refused and says where, the
# watch reports it, and NCCLBPF_ON_DIVERGENCE=baseline ends it where the ranks
# still count alike.
. "$TOP/test/integration/control/lib.sh"
export NCCLBPF_SOCKET_DIR="$T/s"

enough() { n=$(grep -c -- "$2" "$T/host.err") && [ "$n" -ge "$1" ]; }
logged() { # times wanted, text
	await enough "$@"
	[ "$n" -eq "$1" ] || { echo "$n times"; grep -- "^log" "$T/host.err" | tail; return 1; }
}
last_pid() { pgrep -P "$HOST" | tail -1; }

# One rank asks more than the others (ncclGroupSimulateEnd on a subset).
host --ranks 4 --procs 4 --rate 100 --extra 2
check "a policy for all processes" sh_ 0 policy load "$P/tree.policy"
check "a change while ranks agree" sh_ 0 policy use tree
settle
kill -USR1 $(last_pid)
# Until enough later decisions line up again, only the first difference is known.
extra_known() { sh_ 2 -j check agreement && told '"extra":2,"extra_slot":[0-3]'; }
check "check agreement says how many extra decisions who made" await extra_known
check "extra questions of one rank: the change is refused" sh_ 2 -j policy use none
check "because ranks disagree" told '"code":"ranks_disagree"'
check "nothing has moved" sh_ 0 -j status
check "the policy is still in use" told '"policies":\["tree"\]'
check "each process reports it once" logged 4 "RANKS DISAGREE: from decision"
check "status says so" sh_ 0 status
check "in a line of its own" told "ranks of 1 communicator have decided differently"
check "doctor: bad" sh_ 2 doctor
check "doctor names the communicator" told "ab00000000000000: its ranks decided differently"
alive "ranks that do not count alike"
kill -TERM "$HOST"; wait "$HOST"; HOST=

# The same with baseline: no fence is safe, so it only reports.
host NCCLBPF_ON_DIVERGENCE=baseline NCCLBPF_POLICY="$P/tree.policy" \
	--ranks 4 --procs 2 --rate 100 --extra 3
kill -USR1 $(last_pid)
check "shifted ranks are not moved" logged 1 "ON_DIVERGENCE=baseline failed"
check "they keep their policy" sh_ 0 -j status
check "as status says" told '"policies":\["tree"\]'
kill -TERM "$HOST"; wait "$HOST"; HOST=

# Only answers differ: NCCL's own choice at one decision ends it.
host NCCLBPF_ON_DIVERGENCE=baseline NCCLBPF_COHERENCE=off \
	NCCLBPF_POLICY="$B/test/corpus/shell/differs.bpf.o" --ranks 4 --procs 4 --rate 100
check "answers that differ: all ranks back to NCCL" \
	logged 1 "NCCLBPF_ON_DIVERGENCE=baseline: NCCL decides by itself"
settle
check "no policy is in use" sh_ 0 -j status
check "NCCL decides" told '"policies":\[\]'
moved() {
	"$SH" --no-rc -J t -j comm list >"$T/comms" 2>&1 &&
		! grep -o '"policies":\[[^]]*differs' "$T/comms"
}
check "every rank has moved" await moved
alive "after it"
kill -TERM "$HOST"; wait "$HOST"; HOST=
done_testing
