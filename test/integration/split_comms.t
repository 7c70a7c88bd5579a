#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Split communicators: each rank is in one with all ranks and in one with half
# of them, which count otherwise. Each change is committed at all of them.
set -u
dir=$(mktemp -d)
job=
trap '[ "$job" ] && kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
. "$TOP/test/tap.sh"
log=$dir/log
sh_() { # words: what the shell says goes to out and to the log
	timeout 300 "$B/ncclbpf-shell" --no-rc -o tsv \
		-J "$NCCLBPF_JOB" "$@" >"$dir/out" 2>>"$dir/log"
	rc=$?
	sed 's/^/# /' "$dir/out" >>"$dir/log"
	return $rc
}
processes() { [ "$(ls "$dir" | grep -c "^$NCCLBPF_JOB\..*sock$")" -ge "$1" ]; }
# comm state fence ranks passed generation change: of the whole and two halves
committed() {
	awk -F '\t' '
		$2 == "committed" && $4 == ($1 ~ /0$/ ? 4 : 2) { n++ }
		END { exit n != 3 }
	' "$dir/out"
}
# A busy machine's ranks may run past every fence that is tried: once more, then.
use() { sh_ policy use "$1" && committed; }
# ... comm fence ranks passed fence_state, of each process: all have come past
passed() {
	sh_ change status &&
		awk -F '\t' 'NR > 1 { n++; bad += $9 != $10 } END { exit bad || n < 3 }' "$dir/out"
}

run() { # name, processes, options
	name=$1 procs=$2
	shift 2
	export NCCLBPF_JOB=split$n
	timeout 0 "$B/test/fakes/host/standin" --split --ranks 4 --min 4M --max 32M \
		--seconds inf "$@" >"$dir/log" 2>&1 &
	job=$!
	await processes $procs
	await sh_ policy load "$B/policies/size_aware.policy"
	await sh_ policy load "$B/policies/nvlink_ring_mid.policy"
	moved=0
	for p in size_aware nvlink_ring_mid none size_aware none nvlink_ring_mid \
		size_aware none size_aware nvlink_ring_mid; do
		await use $p && await passed || break
		moved=$((moved + 1))
	done
	[ $moved -eq 10 ]
	say $? "$name: $moved of 10 changes, each at all three"
	sh_ check agreement && [ "$(grep -c agree "$dir/out")" -ge 3 ]
	say $? "$name: the ranks of each agree"
	kill -TERM $job
	wait $job
	say $? "$name: and the host saw none differ"
	job=
}
run "four processes" 4 --procs
run "one process, four threads" 1 --threads
run "one process, one thread" 1
echo "1..$n"
