#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# profiler/coll_done tells which decision a collective ran with. A policy that asks for one or two
# channels in turn checks it: with the mock NCCL of three releases, and with the real one.
. "$TOP/test/integration/shm_room.sh"
shm_room "which decision a collective ran with" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
need_host "which decision a collective ran with"
trap finish EXIT
cd "$T" || exit 1
export NCCLBPF_POLICY="$B/test/corpus/events/decided.policy" NCCL_TUNER_PLUGIN="$B/libncclbpf.so"
export NCCL_PROFILER_PLUGIN="$B/libncclbpf.so"

# counts JOB: $known, $unknown and $wrong of all its processes
counts() {
	run -J "$1" -o json map dump seen || return
	for field in known unknown wrong; do
		sum=$(grep -oE "\"$field\":[0-9]+" out | awk -F: '{ n += $2 } END { print n + 0 }')
		eval "$field=$sum"
	done
}
many() { counts "$1" && [ $((known + unknown)) -ge 200 ]; }
judge() { # JOB known|unknown NAME
	await many "$1"
	[ "${wrong:-1}" -eq 0 ]
	ok "$3: no decision is another's" $?
	if [ "$2" = known ]; then
		[ "${known:-0}" -gt 0 ] && [ "${unknown:-1}" -le $((known / 10)) ]
	else
		[ "${known:-1}" -eq 0 ] && [ "${unknown:-0}" -gt 0 ]
	fi
	ok "$3: decisions are $2" $?
	echo "# known $known, unknown $unknown, wrong $wrong"
}

# The plugin and the shell make the same name of a job's, whose dots become _.
# NCCL 2.24 does not name the communicator to its tuner.
for release in "2.24.3 unknown" "2.28.9 known" "2.30.7 known"; do
	# shellcheck disable=SC2086 # release, and what is expected
	set -- $release
	NCCLBPF_JOB=mock$1 timeout 0 "$B/test/fakes/host/standin" --nccl "$1" --procs \
		--ranks 3 --events --min 1M --max 64M --seconds inf --pause-ms 1 \
		--coll allreduce,allgather,reducescatter,broadcast >"$1.out" 2>&1 &
	mock=$!
	jobs="$jobs $mock"
	judge "mock$1" "$2" "mock NCCL $1"
	kill "$mock"
done

# The real one: before 2.29 a policy sees the number of each decision.
job=$B/test/fakes/vgpu/job
nccl=0
[ ! -x "$job" ] || nccl=$("$job" --nccl)
if [ "${nccl%??}" = 228 ]; then
	NCCLBPF_JOB=real VGPU_CLOCK=virtual VGPU_GPU=b300 VGPU_MULTICAST=1 \
		VGPU_TABLE="$TOP/test/fakes/vgpu/b300.csv" \
		LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" timeout 0 "$job" --ranks 4 \
		--seconds inf --coll allreduce,allgather,reducescatter,broadcast,reduce --max 16M \
		>real.out 2>&1 &
	jobs="$jobs $!"
	judge real known "real NCCL"
else
	tests=$((tests + 1))
	echo "ok $tests # SKIP real NCCL: no libnccl 2.28, or no CUDA headers for its job"
fi
