#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD [INTERVAL_MS]: policies/adaptive_channels steers a running job,
# 2 -> 12 -> 2 -> 12 channels as another job uses the links and leaves. The
# job is the real NCCL on virtual GPUs, or the mock NCCL where libnccl is
# missing (DEMO_HOST=standin takes it anyway).
set -u
B=$(cd "$1" && pwd)
interval=${2:-200}
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NCCLBPF_CONTROLLER_MS=$interval
export NCCLBPF_POLICY=$B/policies/adaptive_channels.policy
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so
ranks=4
began=$SECONDS
job=
finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
# True when the job runs.
start() {
	echo 1 >"$dir/contend"
	rm -f "$dir"/demo.seg "$dir/report"
	TMPDIR=$dir timeout -k 10 620 "$@" --procs --ranks $ranks --seconds 600 --pause-ms 5 \
		--min 64M --max 64M --report "$dir/report" >"$dir/log" 2>&1 &
	job=$!
	for _ in $(seq 900); do
		[ -s "$dir/report" ] && return 0
		kill -0 "$job" 2>/dev/null || break
		sleep 0.1
	done
	kill "$job" 2>/dev/null
	wait "$job"
	job=
	return 1
}
host=standin
if [ "${DEMO_HOST:-}" != standin ] && [ -x "$B/test/fakes/vgpu/job" ] &&
	start env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual VGPU_GPU=h100 \
		VGPU_CONTEND="$dir/contend" "$B/test/fakes/vgpu/job"; then
	host=real
else
	start "$B/test/fakes/host/standin" --events --contend "$dir/contend" ||
		fail "the job does not start"
fi
echo "$ranks ranks, one process a rank, AllReduce of 64 MiB:"
if [ $host = real ]; then
	echo "the real NCCL on virtual GPUs; calls are real, how long kernels take is modelled."
else
	echo "a mock NCCL (no libnccl here or none wanted): all times are modelled."
fi
echo "The policy adaptive_channels begins at 2 channels and asks for 2 more while times stay"
echo "calm; 10 times the latency sends it back to 2. Its controller runs every $interval ms."
echo
timeout 500 "$B/ncclbpf-shell" \
	-f examples/closed-loop/curve.lua "$dir/contend" "$dir/report" $ranks ||
	fail "the loop is not what it should be"
kill -TERM "$job"
wait "$job"
rc=$?
job=
[ $rc -eq 0 ] || fail "the job ended with status $rc"
grep -q HANG "$dir/log" && fail "a GPU reports a hang"
echo "The job has ended well ($((SECONDS - began)) s)."
