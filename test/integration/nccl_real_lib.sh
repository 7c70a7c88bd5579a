# SPDX-License-Identifier: MIT
# Sourced by nccl_real.t, nccl_real_threads.t and nccl_explain.t: the plugin inside the real libnccl
# on virtual GPUs. RANKS, and CHANGES of each job of `live`. What holds depends on the version of
# NCCL, since the suites also run with others than the one that the job was built with, and the last
# two with RCCL (make check-nccls).
. "$TOP/test/integration/shm_room.sh"
shm_room "real libnccl" "$0" "$@"
set -u
job=$B/test/fakes/vgpu/job
if [ ! -x "$job" ]; then
	echo "1..0 # SKIP real libnccl: no libnccl or CUDA headers to build the job with"
	exit 0
fi
nccl=$("$job" --nccl) rccl=
! grep -qs librccl.so.1 "$job" || rccl=rccl
gpus=$B/test/fakes/vgpu/libvgpu.so
answers=$B/test/corpus/answers
other=$B/policies/nvlink_ring_mid.policy # a policy beside size_aware
case $rccl$nccl in
222*) tuner=3 profiler= changes=never ;;
228*) tuner=5 profiler=5 changes=yes ;;
229*) tuner=5 profiler=6 changes=counted ;; # where API calls are counted
rccl22707)
	# The job is linked with its GPUs. rccl_real.t has the profiler's events.
	tuner=4 profiler= changes=named # where the profiler is told the communicator's identity
	gpus= other=$answers/ring_ll_four.policy
	export RCCL_USE_ROCM_SMI_LIB=1
	;;
*)
	echo "1..0 # SKIP real libnccl: nobody has said what holds for NCCL $nccl"
	exit 0
	;;
esac
dir=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
export VGPU_CLOCK=virtual VGPU_GPU=b300 VGPU_MULTICAST=1 VGPU_TABLE=$TOP/test/fakes/vgpu/b300.csv
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
. "$TOP/test/await.sh"
log=$dir/log
run() { # [NAME=value...] command...
	timeout 0 env LD_PRELOAD="$gpus" VGPU_LOG=1 \
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

# Ranks that still connect would meet many changes at one decision.
all_decide() {
	timeout 300 "$sh" -J $NCCLBPF_JOB comm list -o json >"$dir/comms" 2>/dev/null
	[ "$(grep -oE '"decisions":[1-9][0-9]{2}' "$dir/comms" | wc -l)" -ge "$RANKS" ]
}
live() { # name, options...
	name=$1
	shift
	export NCCLBPF_JOB=real$n
	both=
	case $changes in counted | named) both="NCCL_PROFILER_PLUGIN=$B/libncclbpf.so" ;; esac
	# shellcheck disable=SC2086 # no variable at all
	env $both LD_PRELOAD="$gpus" timeout 0 "$job" --ranks "$RANKS" \
		--seconds inf --max 16M --factor 4 "$@" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid all_decide
	timeout 300 "$sh" -J $NCCLBPF_JOB comm list -o json >"$dir/comms" 2>>"$dir/log"
	grep -q "\"tuner_abi\": *$tuner" "$dir/comms"
	say $? "$name: NCCL calls interface v$tuner"
	if [ $changes = never ]; then
		stays "a tuner before v5 gives no identity"
		ends
		return
	fi
	for p in "$B/policies/size_aware.policy" "$other"; do
		timeout $HANG "$sh" -T 300 -J $NCCLBPF_JOB policy load "$p" >>"$dir/log" 2>&1
	done
	moved=0
	for turn in 1 2 3 4 5 6; do # a busy machine's ranks may run past every fence that is tried
		[ $moved -ge "$CHANGES" ] || moved=$((moved + $(change $((CHANGES - moved)))))
	done
	[ $moved -eq "$CHANGES" ]
	say $? "$name: every change was taken ($moved of $CHANGES)"
	echo "# the last of them at $(cut -f3 "$dir/made" | sort -u | wc -l) decisions"
	await while_lives $pid passed
	say $? "$name: every rank has passed the last one"
	timeout $HANG "$sh" -T 300 -J $NCCLBPF_JOB check agreement >>"$dir/log" 2>&1
	say $? "$name: all ranks decided alike"
	ends
}
# Ask for COUNT changes in one session; print how many of them were taken.
change() { # COUNT
	seq "$1" | awk -v other="$(basename "$other" .policy)" '
		BEGIN { split("size_aware " other " none", name, " ") }
		{ print "policy use " name[(NR - 1) % 3 + 1] }
	' | timeout $HANG "$sh" -T 300 --keep-going -q -o tsv -J $NCCLBPF_JOB \
		>"$dir/made" 2>>"$dir/log"
	grep -c '	committed	' "$dir/made"
}
passed() {
	timeout $HANG "$sh" -q -f "$TOP/examples/demo/passed.lua" >/dev/null 2>&1
}
ends() {
	kill -TERM $pid
	wait $pid
	rc=$?
	pid=
	[ $rc -eq 0 ] && ! grep -q HANG "$dir/log"
	say $? "$name: no hang, no divergence (status $rc)"
}
# A change that no communicator can take is refused, and the reason is said.
stays() { # reason
	timeout 300 "$sh" -J $NCCLBPF_JOB policy load "$B/policies/noop.policy" >>"$dir/log" 2>&1
	timeout 300 "$sh" -J $NCCLBPF_JOB -o tsv policy use noop >"$dir/use" 2>&1
	rc=$?
	cat "$dir/use" >>"$dir/log"
	[ $rc -ne 0 ] && grep -q '	unchangeable	' "$dir/use"
	say $? "$name: no communicator changes: $1"
}
uncounted() { # name, options...
	name=$1
	shift
	[ $changes = counted ] || return
	export NCCLBPF_JOB=real$n
	env LD_PRELOAD="$gpus" timeout 0 "$job" --ranks "$RANKS" \
		--seconds inf --max 16M --factor 4 "$@" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid all_decide
	stays "no API calls are counted"
	grep -q NCCLBPF_API_CLOCK "$dir/use"
	say $? "$name: the shell names what would count them"
	ends
}

# The real profiler events: kernels timed by the (virtual) GPU's own clock.
has_kernels() {
	timeout 300 "$sh" -J $NCCLBPF_JOB telemetry on -o tsv -q >"$dir/on" 2>/dev/null
	timeout 300 "$sh" -J $NCCLBPF_JOB -o json stats >"$dir/stats" 2>/dev/null
	grep -q '"source":"kernel_gpu"' "$dir/stats"
}
events() { # name, options...
	[ -n "$profiler" ] || return
	name=$1
	shift
	export NCCLBPF_JOB=events$n
	env NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" LD_PRELOAD="$gpus" \
		timeout 0 "$job" --seconds inf --max 16M --factor 4 "$@" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid has_kernels
	cat "$dir/stats" >>"$dir/log"
	grep -q "\"profiler_abi\":$profiler" "$dir/stats"
	say $? "$name: NCCL calls profiler v$profiler"
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

# Broadcasts of several roots in a group: since 2.29 one kernel, of which NCCL reports nothing.
broadcasts_seen() {
	timeout 300 "$sh" -J $NCCLBPF_JOB telemetry on -o tsv -q >"$dir/on" 2>/dev/null
	timeout 300 "$sh" -J $NCCLBPF_JOB -o json stats >"$dir/stats" 2>/dev/null
	grep -Eq "$seen" "$dir/stats"
}
launched() { grep -q "launch rank 1 #[0-9]* $launch" "$dir/log"; }
broadcasts() { # name, options...
	[ -n "$profiler" ] || return
	name=$1
	shift
	export NCCLBPF_JOB=broadcasts$n
	env NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" LD_PRELOAD="$gpus" \
		VGPU_LOG=1 timeout 0 "$job" --ranks 2 --seconds inf --max 1M --factor 1024 \
		--coll allgatherv,allreduce "$@" >"$dir/log" 2>&1 &
	pid=$!
	seen='"unreported":[1-9]' launch='AllGatherV RING/'
	[ "$profiler" -ge 6 ] || seen='"unreported":0.*"coll":"broadcast"' launch='Broadcast RING/'
	await while_lives $pid broadcasts_seen
	say $? "$name: are measured, or counted as calls that NCCL says nothing of"
	await while_lives $pid launched
	say $? "$name: launched as $launch"
	ends
}
# The same without ncclbpf's tuner: the job ends, whatever was asked for.
alone() { # name
	[ -n "$profiler" ] || return
	env -u NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" \
		LD_PRELOAD="$gpus" VGPU_LOG=1 timeout 300 "$job" --ranks 2 \
		--loops 3 --max 1M --factor 1024 --coll allgatherv,allreduce >"$dir/log" 2>&1
	rc=$?
	[ $rc -eq 0 ] && grep -q "launch rank 1" "$dir/log"
	say $? "$1: the job ends (status $rc)"
}
