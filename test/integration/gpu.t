#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Two ranks on one real GPU, joined by sockets because their hosts are said to
# differ: changes under load with every sum looked at, GPU times, our transport,
# and a hang that is named. Skipped where there is no GPU; nothing else of CI
# needs one.
. "$TOP/test/integration/shell_lib.sh"
[ -c /dev/nvidia0 ] || skip_all "one real GPU" "there is none"
[ -x "$B/test/fakes/vgpu/job" ] ||
	skip_all "one real GPU" "libnccl or the CUDA headers were not there"
trap finish EXIT
cd "$T" || exit 1
export NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN
echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -1)"

# real JOB [NAME=value...] -- ARGS...: in $job; its output in JOB.out
real() {
	realjob=$1
	shift
	vars=NCCL_NET=Socket
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	env NCCLBPF_JOB="$realjob" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" $vars \
		timeout 0 "$B/test/fakes/vgpu/job" --procs --per-node 1 --ranks 2 \
		--check "$@" >"$realjob.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await timeout 300 "$S" -q attach "$realjob" >/dev/null 2>&1
	need "a job: $realjob" $?
}
ended() { # NAME: the job, well, with all sums right
	kill -TERM "$job" 2>/dev/null
	wait "$job"
	rc=$?
	[ $rc -eq 0 ] || tail -5 "$realjob.out" >why
	ok "$1" $rc
}
deciding() { [ -n "$("$S" -q -J "$realjob" decision tail count=1 2>/dev/null)" ]; }

real live NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" -- --seconds inf --min 1K --max 4M --factor 16
await deciding
ok "two ranks decide on one GPU" $?
status 0 "telemetry" -J live telemetry on
for p in noop size_aware cheap_ring; do
	run -J live policy load "$B/policies/$p.policy"
	[ "$rc" -eq 0 ] || ok "load $p" "$rc"
done
began=$(date +%s%N)
n=0 refused=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	for p in noop size_aware cheap_ring; do
		run -J live policy use $p
		n=$((n + 1))
		[ "$rc" -eq 0 ] || refused=$((refused + 1))
	done
done
[ $refused -eq 0 ]
ok "$n changes under load" $?
echo "# $n changes in $((($(date +%s%N) - began) / 1000000)) ms"
status 0 "all ranks decided alike" -J live check agreement
measured() { "$S" -q -J live -o json stats 2>/dev/null | grep -q '"gpu": *{"count": *[1-9]'; }
await measured
ok "measured, by the GPU's clock" $?
run -J live -o table stats
sed 's/^/# /' out
status 0 "a trace" -J live trace start out="$T/run.json" seconds=2
grep -o '"gpu_us": *[0-9.]*' run.json | awk '
	{ n++; if ($NF + 0 > most) most = $NF + 0 }
	END {
		print "# " n + 0 " kernels, the longest " most + 0 " us"
		exit !(most > 0 && most < 5e6)
	}
' FS=:
ok "kernels in it, timed by the GPU" $?
ended "and every sum was right"

real net NCCL_NET=ncclbpf NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCL_DEBUG=INFO \
	-- --seconds inf --min 1K --max 16M --factor 16
await deciding
ok "over our own transport" $?
sleep 3
ended "every sum is right there too"
grep -i 'net/\|network' net.out | sort -u | head -30 >why
grep -q 'Using network ncclbpf' net.out
ok "which NCCL says it uses" $?

# Two answers to one question, by a chained tuner that does as it likes.
real hang NCCLBPF_CHAIN_TUNER="$B/test/fakes/vgpu/tuner_force.so" FORCE=1,2,1 FORCE_RANK=1 -- \
	--seconds inf --min 1K --max 1K
told() { run -J hang -o table check agreement && [ "$rc" -eq 2 ]; }
await told
ok "ranks that differ: status 2" $?
grep -q 'ring/simple' out && grep -q 'ring/ll' out
both=$?
cat out err >why
[ $both -eq 0 ]
ok "with both answers" $?
pkill -KILL -P "$job" # the first rank; the others die with it
kill -KILL "$job" 2>/dev/null
wait "$job" 2>/dev/null
status 2 "and from the segment alone" check agreement segment="$T/s/hang.seg"
