# SPDX-License-Identifier: MIT
# Sourced by nccl_real.t and nccl_real_threads.t: the plugin inside the real libnccl on virtual
# GPUs. RANKS, and ROUNDS of three changes each.
. "$TOP/test/integration/shm_room.sh"
shm_room "real libnccl" "$0" "$@"
set -u
job=$B/test/fakes/vgpu/job
if [ ! -x "$job" ]; then
	echo "1..0 # SKIP real libnccl: no libnccl or CUDA headers to build the job with"
	exit 0
fi
dir=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
export VGPU_CLOCK=virtual VGPU_GPU=b300 VGPU_MULTICAST=1 VGPU_TABLE=$TOP/test/fakes/vgpu/b300.csv
answers=$B/test/corpus/answers
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
. "$TOP/test/await.sh"
log=$dir/log
run() { # [NAME=value...] command...
	timeout 0 env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_LOG=1 \
		"$@" >"$dir/log" 2>&1
}
few="--ranks 4 --loops 2 --min 1M --max 64M --factor 8"

run "$job" --ranks 2 --loops 1 --min 1M --max 1M
rc=$?
if [ $rc -eq 77 ]; then
	echo "1..0 # SKIP real libnccl: $(grep -m1 SKIP "$dir/log")"
	exit 0
fi
say $rc "a job with the plugin and no policy"

all_decide() {
	timeout 300 "$sh" -J $NCCLBPF_JOB comm list -o json >"$dir/comms" 2>/dev/null
	[ "$(grep -o '"decisions":[1-9]' "$dir/comms" | wc -l)" -ge "$RANKS" ]
}
live() { # name, options...
	name=$1
	shift
	export NCCLBPF_JOB=real$n
	env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" timeout 0 "$job" --ranks "$RANKS" \
		--seconds inf --max 16M --factor 4 "$@" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid all_decide
	timeout 300 "$sh" -J $NCCLBPF_JOB comm list -o json >"$dir/comms" 2>>"$dir/log"
	grep -q '"tuner_abi": *5' "$dir/comms"
	say $? "$name: NCCL calls interface v5"
	moved=0
	for p in size_aware nvlink_ring_mid noop; do
		timeout 300 "$sh" \
			-J $NCCLBPF_JOB policy load "$B/policies/$p.policy" >>"$dir/log" 2>&1
	done
	for i in $(seq "$ROUNDS"); do
		for p in size_aware nvlink_ring_mid none; do
			# a busy machine's ranks may run past every fence that is tried
			for turn in 1 2 3 4 5 6; do
				timeout 300 "$sh" \
					-J $NCCLBPF_JOB policy use $p >>"$dir/log" 2>&1 || continue
				moved=$((moved + 1))
				break
			done
		done
	done
	kill -TERM $pid
	wait $pid
	rc=$?
	pid=
	[ $rc -eq 0 ] && ! grep -q HANG "$dir/log"
	say $? "$name: no hang, no divergence (status $rc)"
	[ $moved -eq $((3 * ROUNDS)) ]
	say $? "$name: every change was taken ($moved of $((3 * ROUNDS)))"
}

# The real profiler events: kernels timed by the (virtual) GPU's own clock.
has_kernels() {
	timeout 300 "$sh" -J $NCCLBPF_JOB telemetry on -o tsv -q >"$dir/on" 2>/dev/null
	timeout 300 "$sh" -J $NCCLBPF_JOB -o json stats >"$dir/stats" 2>/dev/null
	grep -q '"source":"kernel_gpu"' "$dir/stats"
}
events() { # name, options...
	name=$1
	shift
	export NCCLBPF_JOB=events$n
	env NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" \
		timeout 0 "$job" --seconds inf --max 16M --factor 4 "$@" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid has_kernels
	cat "$dir/stats" >>"$dir/log"
	grep -q '"profiler_abi":5' "$dir/stats"
	say $? "$name: NCCL calls profiler v5"
	grep -q '"coll":"allreduce".*"gpu":{"count":[1-9].*"source":"kernel_gpu"' "$dir/stats"
	say $? "$name: collectives are timed by the GPU's clock"
	grep -q '"busbw_gbs":[0-9.]*[1-9]' "$dir/stats"
	say $? "$name: and have a bus bandwidth"
	timeout 300 "$sh" -J $NCCLBPF_JOB telemetry off >/dev/null 2>&1
	kill -TERM $pid
	wait $pid
	rc=$?
	pid=
	say $rc "$name: ends well (status $rc)"
}
