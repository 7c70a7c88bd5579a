#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Real libnccl on two sites that share an etcd: changes of both sites under load, with an agent
# killed and the store away. On one real GPU, where there is one (two ranks, joined by sockets
# because their hosts are said to differ), every element that a rank receives is compared; else
# on virtual GPUs, which stop a job whose ranks launch different kernels.
. "$TOP/test/integration/shm_room.sh"
shm_room "real libnccl on two sites" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "real libnccl on two sites"
[ -x "$B/test/fakes/vgpu/job" ] ||
	skip_all "real libnccl on two sites" "no libnccl to build the job with"
enter_store
export NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN NCCL_NET=Socket
if [ -c /dev/nvidia0 ]; then
	ranks=2 per_node=1 gpu='' check="--check --pause-ms 0"
	echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null |
		head -1)"
else
	ranks=4 per_node=2 gpu=$B/test/fakes/vgpu/libvgpu.so check="--pause-ms 5"
	export VGPU_CLOCK=virtual
	LD_PRELOAD=$gpu timeout 300 "$B/test/fakes/vgpu/job" --ranks 2 --loops 1 \
		--min 1M --max 1M >log 2>&1
	[ $? -ne 77 ] || skip_all "real libnccl on two sites" "$(grep -m1 SKIP log)"
fi
tls_store real
NCCLBPF_JOB=real
export NCCLBPF_JOB
set --
r=0
while [ $r -lt $ranks ]; do
	[ $r -lt $per_node ] && site=a || site=b
	set -- "$@" --rank-env "$r:NCCLBPF_SOCKET_DIR=$T/$site"
	r=$((r + 1))
done
NCCLBPF_FLEET_CERT="$T/etcd/agent.pem" NCCLBPF_FLEET_KEY="$T/etcd/agent.key" \
	NCCLBPF_AGENT_LISTEN=127.0.0.1 serve real a b
# shellcheck disable=SC2086
env ${gpu:+LD_PRELOAD="$gpu"} NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" \
	timeout 0 "$B/test/fakes/vgpu/job" --procs --per-node $per_node \
	--ranks $ranks "$@" $check --seconds inf --min 1K --max 4M --factor 16 >job.out 2>&1 &
job=$!
jobs="$jobs $job"
await registered
need "$ranks ranks on two sites are registered" $?

# decisions: the smallest number of decisions of a rank, by the job's own processes
decisions() {
	for s in a b; do
		env -u NCCLBPF_FLEET NCCLBPF_SOCKET_DIR="$T/$s" \
			"$S" -J real -o tsv comm list 2>/dev/null
	done | awk -F '\t' '$1 == "rank" {
		for (i = 1; i <= NF; i++) if ($i == "decisions") c = i
			next
		}
		!n++ || $c < least { least = $c }
		END { print least + 0 }'
}
# generations N: do the ranks of both sites have generation N of the job, and how many are they
generations() {
	run -o tsv comm list
	[ "$(column generation | grep -cx "$1")" -eq $ranks ]
}
change() { # WORDS...: a change -> its number in $n
	run -o json "$@"
	n=$(sed -n 's/.*"generation": *\([0-9][0-9]*\).*/\1/p' out | head -1)
	[ "$rc" -eq 0 ] && [ "$n" ]
}
# On a loaded machine ranks may pass every fence that was tried: nothing has changed, and the
# change is asked for again.
asked=0
in_time() { # WORDS...: a change
	asked=$((asked + 1))
	change "$@" && return
	sed "s/^/# request $asked: /" out
	grep -q '"code":"busy"' out && return 1
	return $NEVER
}
status 0 "telemetry of both sites" telemetry on
began=$(date +%s%N)
made=0
for _ in 1 2 3 4; do
	for p in noop size_aware cheap_ring; do
		await in_time policy use "$B/policies/$p.policy" && made=$((made + 1))
	done
done
[ $made -eq 12 ]
ok "12 changes of both sites under load" $?
echo "# $made changes, $asked requests, $((($(date +%s%N) - began) / 1000000)) ms"
await generations "$n"
ok "all ranks have the last one" $?
status 0 "all ranks decided alike" check agreement
measured() { "$S" -q -o json stats 2>/dev/null | grep -q '"gpu": *{"count": *[1-9]'; }
if [ ! "$gpu" ]; then
	await measured
	ok "measured on both sites, by the GPU's clock" $?
	run -o table stats
	sed 's/^/# /' out
fi

pkill -KILL -f -- "ncclbpf-agent .*--dir $T/b"
changed() { change policy use "$B/policies/noop.policy"; }
await changed
ok "a change after a site's agent was killed" $?
await generations "$n"
ok "all ranks have it" $?

"$etcd" kill "$T/etcd" 1
before=$(decisions)
further() { [ "$(decisions)" -gt $((before + 20)) ]; }
await further
ok "the ranks decide on without the store" $?
run -o json policy use "$B/policies/size_aware.policy"
[ "$rc" -ne 0 ]
ok "a change without the store is refused" $?
"$etcd" restart "$T/etcd" 1
undone() { change policy undo; }
await undone
ok "an undo with the store again" $?
await generations "$n"
ok "all ranks have it" $?
status 0 "and still decide alike" check agreement
kill -TERM "$job"
wait "$job"
rc=$?
[ $rc -eq 0 ] || head -20 job.out >why
ok "the job ends well" $rc
