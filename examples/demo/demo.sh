#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: an 8-rank job, and a policy that comes and goes while it runs.
# DEMO_HOST=standin takes the mock NCCL even where libnccl is at hand.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1
PATH=$B:$PATH
job=
finish() {
	[ "$job" ] && kill -TERM "$job" 2>/dev/null && wait "$job"
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n%s\n' "$*"; }
# Show a command and run it; $1 is the exit status that it must have.
do_() {
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | sed "s#$PWD/##g"
	timeout 30 ncclbpf-shell -o table "$@" 2>&1 | sed "s#$PWD/##g"
	rc=${PIPESTATUS[0]}
	if [ "$rc" -ne "$want" ]; then
		echo "demo: exit status $rc, not $want" >&2
		cat "$dir/log" >&2
		exit 1
	fi
}
# A change is committed at a fence; wait until all ranks have passed it.
passed() {
	for _ in $(seq 200); do
		timeout 10 ncclbpf-shell -f examples/demo/passed.lua && return
		sleep 0.1
	done
	echo "demo: the ranks do not pass the fence" >&2
	exit 1
}
table() { # arguments of table.lua
	# Two whole loops with what has just been decided.
	local loops
	loops=$(wc -l <"$dir/report")
	for _ in $(seq 200); do
		[ "$(wc -l <"$dir/report")" -ge $((loops + 40)) ] && break
		sleep 0.1
	done
	printf '\n$ ncclbpf-shell -f examples/demo/table.lua report=REPORT%s\n' "${*:+ $*}"
	timeout 30 ncclbpf-shell -f examples/demo/table.lua "report=$dir/report" "$@" || exit 1
}

options="--ranks 8 --procs --coll allreduce --min 1K --max 256M --seconds 150 --pause-ms 150"
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so
start() {
	: >"$dir/report"
	# shellcheck disable=SC2086
	env "$@" $options --report "$dir/report" >"$dir/log" 2>&1 &
	job=$!
	for _ in $(seq 300); do
		[ "$(wc -l <"$dir/report")" -ge 20 ] && return 0
		kill -0 $job 2>/dev/null || break
		sleep 0.1
	done
	kill $job 2>/dev/null
	wait $job
	rc=$?
	job=
	return $rc
}
real() {
	[ "${DEMO_HOST:-}" != standin ] && [ -x "$B/test/fakes/vgpu/job" ] &&
		start LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_GPU=b300 VGPU_MULTICAST=1 \
		VGPU_CLOCK=virtual VGPU_TABLE=test/fakes/vgpu/b300.csv "$B/test/fakes/vgpu/job"
}
if real; then
	echo "An 8-rank job, one process a rank: the real NCCL 2.28.9 on virtual GPUs."
else
	echo "An 8-rank job, one process a rank, run by a mock NCCL: the same calls into"
	if [ "${DEMO_HOST:-}" = standin ]; then
		echo "the plugin, no transport (DEMO_HOST=standin)."
	else
		echo "the plugin, no transport. There is no libnccl 2.28.9 with CUDA headers here."
	fi
	start "$B/test/fakes/host/standin" --table test/fakes/vgpu/b300.csv ||
		{ cat "$dir/log" >&2; exit 1; }
fi
echo "Times are replayed from published bandwidths of 8 x B300, not measured here."

do_ 0 list
say "What NCCL decides by itself:"
table from=2M
do_ 0 policy load "$B/policies/nvlink_ring_mid.policy"
do_ 0 policy use nvlink_ring_mid
passed
say "The same job, from the fence on:"
table from=2M
say "A policy with a mistake never gets near the job:"
do_ 2 policy load "$B/examples/demo/out_of_bounds.bpf.o"
say "Two policies in order; the second has a coherent map, typed by its BTF:"
do_ 0 policy load "$B/policies/force.policy"
do_ 0 policy use nvlink_ring_mid force
do_ 0 map set force 0 '{algo=-1, proto=-1, channels=16, enabled=1}'
passed
do_ 0 map dump force
do_ 0 explain allreduce 4M
say "Back, one change at a time: the map, the second policy, the first:"
do_ 0 policy undo
passed
do_ 0 policy use nvlink_ring_mid
passed
do_ 0 policy use none
passed
say "NCCL decides by itself again:"
table from=4M
kill -TERM $job
wait $job
rc=$?
job=
if [ $rc -ne 0 ]; then
	echo "demo: the job ended with status $rc" >&2
	cat "$dir/log" >&2
	exit 1
fi
cat <<END

The job has ended well: no rank hung, no rank differed. To attach by hand:

    export NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so
    $B/test/fakes/host/standin --ranks 8 --procs --events --seconds 600 --pause-ms 100 \\
        --coll allreduce,allgather,reducescatter,broadcast &
    $B/ncclbpf-shell
END
