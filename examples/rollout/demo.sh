#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD [BLOCKS SAMPLES]: two rollouts on a job of eight ranks. A policy
# is found better at some sizes and promoted there, alone; a bad one is stopped
# by its guard and rolled back. The job is the real NCCL on virtual GPUs, or the
# mock NCCL where libnccl is missing (DEMO_HOST=standin takes it anyway).
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1 XDG_STATE_HOME=$dir/state
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so
PATH=$B:$B/test/fakes/host:$PATH
blocks=${2:-10} samples=${3:-20}
ranks=8
within=5000 # collectives that the bad policy may decide
began=$SECONDS
job=

finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n%s\n' "$*"; }
title() { printf '\n%s\n%s\n' "$1" "${1//?/-}"; }
short() { sed "s#$PWD/##g; s#$dir/#DIR/#g"; }
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
# Show a command and run it; $1 is the exit status that it must have.
do_() {
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | short
	timeout 300 ncclbpf-shell -o table "$@" 2>&1 | short
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
	[ "$rc" -eq 0 ] || echo "[exit status $rc]"
}

# The published times, and a twentieth of the bandwidth with one channel.
table=$dir/times.csv
{
	grep '^collective' test/fakes/vgpu/b300.csv
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' test/fakes/vgpu/b300.csv
	grep -v '^#\|^collective' test/fakes/vgpu/b300.csv
} >"$table"
published="test/fakes/vgpu/b300.csv (published figures of 8 x B300)"
export NCCLBPF_TIMES="replayed from $published, 1 % of chance added"

# Until all sizes have been seen twice; true when the job runs. Eight sizes: NCCL
# keeps the GPU's times of 64 kernels a channel, and where its thread that reads
# them lags behind a GPU whose kernels take no time, it takes that of 64 later,
# which is of the same size then.
start() {
	rm -f "$dir"/demo.seg
	: >"$dir/report"
	TMPDIR=$dir timeout -k 10 620 "$@" --ranks $ranks --procs --seconds 600 --pause-ms 10 \
		--min 2M --max 256M --report "$dir/report" >"$dir/log" 2>&1 &
	job=$!
	for _ in $(seq 900); do
		[ "$(wc -l <"$dir/report")" -ge 16 ] && return 0
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
	start env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual VGPU_GPU=b300 \
	VGPU_MULTICAST=1 VGPU_TABLE="$table" VGPU_NOISE_PCT=1 "$B/test/fakes/vgpu/job"; then
	host=real
else
	start "$B/test/fakes/host/standin" --events --table "$table" --noise 1 --rank-us 0 ||
		fail "the job does not start"
fi
title "Eight ranks, one process a rank, AllReduce from 2 MiB to 256 MiB"
if [ $host = real ]; then
	say "The real NCCL 2.28.9 on virtual GPUs: calls and choices are real, kernels do not run."
else
	say "A mock NCCL (no libnccl here or none wanted): it asks the plugin as NCCL does."
fi
echo "All times are $NCCLBPF_TIMES:"
echo "nothing here was measured on a GPU. One channel is assumed to be 20 times slower."
do_ 0 policy load "$B/policies/nvlink_ring_mid.policy"
do_ 0 policy load "$B/examples/rollout/one_channel.bpf.o"

for p in better one_channel; do
	sed -e "s/blocks = 10, samples = 20/blocks = $blocks, samples = $samples/" \
		examples/rollout/$p.lua >"$dir/$p.lua"
done

title "Where is the ring better?"
do_ 0 rollout plan "$dir/better.lua"
do_ 0 rollout start "$dir/better.lua"
do_ 0 rollout status
do_ 0 rollout history
report=${1%/}/rollout.html
do_ 0 rollout report out="$report"
printf '\n$ ncclbpf-shell -f examples/rollout/found.lua test/fakes/vgpu/b300.csv\n'
timeout 120 ncclbpf-shell -f examples/rollout/found.lua test/fakes/vgpu/b300.csv ||
	fail "that is not what was published"
do_ 0 check agreement

title "A bad policy: one channel"
do_ 2 rollout start "$dir/one_channel.lua"
do_ 0 rollout history
exposed=$(timeout 20 ncclbpf-shell -o json rollout history | grep -o '"exposed":[0-9]*' |
	tail -1 | tr -dc 0-9)
[ "${exposed:-999999}" -le $within ] ||
	fail "the bad policy decided ${exposed:-too many} collectives, more than $within"
say "It decided $exposed collectives, and may decide $within;" \
	"what was promoted before is in use again:"
do_ 0 status
do_ 0 check agreement

kill -TERM "$job"
wait "$job"
rc=$?
job=
[ $rc -eq 0 ] || fail "the job ended with status $rc"
grep -q 'HANG\|DIVERGENCE' "$dir/log" && fail "ranks differed"
say "The job has ended well: no rank hung, no rank differed."
say "The report: $report"
echo "Done in $((SECONDS - began)) s."
