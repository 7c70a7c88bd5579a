#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD [DIRECTORY]: how much of a collective the CPU's call shows, and
# how much is seen now, on a live job: the real NCCL on virtual GPUs, or the
# mock NCCL where libnccl is missing (DEMO_HOST=standin takes it anyway).
# Writes calls.json, trace.json and trace.svg into DIRECTORY.
set -u
B=$(cd "$1" && pwd)
to=${2:-.}
mkdir -p "$to"
to=$(cd "$to" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so
shell=$B/ncclbpf-shell
job=
trap 'kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
# The first collectives connect the ranks; these are not to be shown.
runs() {
	for _ in $(seq 600); do
		[ "$(timeout 10 "$shell" -j comm list 2>/dev/null |
			grep -o '"decisions":[1-9][0-9]' | wc -l)" -eq 2 ] && return
		kill -0 "$job" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}
start() {
	timeout 620 "$@" --ranks 2 --procs --seconds 600 --min 1M --max 256M --factor 16 \
		--pause-ms 20 >"$dir/log" 2>&1 &
	job=$!
	runs
}
what=
if [ "${DEMO_HOST:-}" != standin ] && [ -x "$B/test/fakes/vgpu/job" ]; then
	start env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_GPU=b300 VGPU_MULTICAST=1 \
		VGPU_TABLE=test/fakes/vgpu/b300.csv "$B/test/fakes/vgpu/job" &&
		what="the real NCCL on virtual GPUs: calls are real," &&
		what="$what kernels take the time of published tables"
fi
if [ -z "$what" ]; then
	[ "$job" ] && kill "$job" 2>/dev/null
	start "$B/test/fakes/host/standin" --events || fail "no job runs"
	what="the mock NCCL: no libnccl here, all times are modelled"
fi
echo "2 ranks, AllReduce, $what"
echo
# NCCL needs a moment with the first kernels that it is to time
for _ in $(seq 20); do
	timeout 60 "$shell" -j trace calls seconds=1 >"$to/calls.json" || fail "trace calls"
	[ "$(grep -o '"coll":' "$to/calls.json" | wc -l)" -ge 3 ] && break
done
echo '$ ncclbpf-shell trace calls'
timeout 60 "$shell" -o table trace calls seconds=2 out="$to/calls.json" >"$dir/table" ||
	fail "trace calls"
grep -v '^written: ' "$dir/table"
echo
echo '$ ncclbpf-shell trace start out=trace.json seconds=1'
(cd "$to" && timeout 60 "$shell" -o table trace start out=trace.json seconds=1) ||
	fail "trace start"
# a loop starts with the smallest size
note="The first size comes after the job's pause of 20 ms: its call runs with cold caches, and"
timeout 60 "$shell" -f examples/trace/draw.lua "$to/calls.json" "$what" \
	"$note each rank waits for the other to wake up." >"$to/trace.svg" ||
	fail "draw.lua"
echo
echo "In $to:"
echo "  trace.json: for ui.perfetto.dev or the Performance panel of Chrome's DevTools"
echo "  trace.svg, calls.json: the table as a picture and as data"
