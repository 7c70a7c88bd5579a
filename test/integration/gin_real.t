#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# GIN with the real libnccl on virtual GPUs: its progress thread calls our
# plugin, host threads play kernels with NCCL's own device headers, and each
# byte is checked. LONG=1 (make check-soak): more ranks and rounds.
. "$TOP/test/integration/shm_room.sh"
shm_room "real GIN" "$0" "$@"
set -u
job=$B/test/fakes/vgpu/gin_job
if [ ! -x "$job" ]; then
	echo "1..0 # SKIP real GIN: no libnccl that has it, NCCL's device headers or" \
		"libcu++ to build the job with"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/log
run() { # [NAME=value...] command...
	timeout -k 10 "${LIMIT:-600}" env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$dir" NCCL_CUMEM_ENABLE=1 \
		NCCL_WIN_ENABLE=1 NCCL_GIN_NCONTEXTS=1 NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO \
		NCCL_DEBUG_FILE="$dir/nccl" "$@" >"$dir/log" 2>&1
}
modes="all-to-all ping-pong many-small barriers late-windows second-comm"

run NCCLBPF_GIN=on "$job" --times 20 all-to-all
rc=$?
if [ $rc -eq 77 ] || grep -q 'vgpu: SKIP' "$dir/log"; then
	echo "1..0 # SKIP real GIN: $(grep -m1 SKIP "$dir/log")"
	exit 0
fi
say $rc "two ranks of one process put to each other"
grep -q 'the GIN plugin .*/libnccl-net-tcp.so (tcp, interface v17) is called first' "$dir/nccl"
say $? "NCCL's log says who moves the data"

# shellcheck disable=SC2086
run NCCLBPF_GIN=on "$job" --times "${TIMES:-20}" $modes
say $? "$modes: ranks as threads"
# shellcheck disable=SC2086
run NCCLBPF_CHAIN_GIN=tcp "$job" --procs --times "${TIMES:-20}" $modes
say $? "...ranks as processes"
run NCCL_NET_PLUGIN="$B/libnccl-net-tcp.so" NCCL_GIN_PLUGIN=tcp "$job" --procs --times 10 \
	all-to-all barriers
say $? "...by the library of TCP transports without ncclbpf"
if [ "$("$B/test/fakes/vgpu/job" --nccl)" -lt 22907 ]; then
	# shellcheck disable=SC2086
	run NCCLBPF_GIN=on NCCLBPF_NET=off "$job" --procs --times 10 $modes
	rc=$?
	[ $rc -ne 0 ]
	say $? "NCCL before 2.29.7 has no GIN plugin where the net is not ours"
else
	# shellcheck disable=SC2086
	run NCCLBPF_GIN=on NCCLBPF_NET=off NCCL_GIN_PLUGIN="$B/libncclbpf.so" "$job" --procs \
		--times 10 $modes
	say $? "from 2.29.7 on NCCL_GIN_PLUGIN names one where the net is not ours"
fi
run NCCLBPF_GIN=on "$job" --procs --ranks 4 --nodes 2 --times 10 all-to-all barriers
say $? "four ranks on two pretended nodes"
for how in "" --procs "--procs --ranks 4 --nodes 2"; do
	# shellcheck disable=SC2086
	run NCCLBPF_GIN=on "$job" $how --times 1000 barriers
	say $? "1,000 barriers: ${how:-ranks as threads}"
done
run NCCLBPF_GIN=on NCCL_GIN_NCONTEXTS=4 "$job" --procs --times 10 all-to-all many-small
say $? "four collComms"
# A rank gets a signal in mid-put, and the shell shows what the other rank knows
# of it. The ring is long: with a full ring there is no next put, and the other
# rank learns of it when TCP gives the connection up.
sh=$B/ncclbpf-shell
export NCCLBPF_SOCKET_DIR="$dir" NCCLBPF_HISTORY=
mkfifo "$dir/hold"
gone() { # mode, state, milliseconds after which a rank that takes nothing is stalled
	: >"$dir/nccl"
	run NCCLBPF_GIN=on NCCLBPF_GIN_STALL_MS="$3" NCCLBPF_GIN_QUEUE=2048 NCCLBPF_JOB="$1" \
		"$job" --procs --hold "$1" <"$dir/hold" &
	pid=$!
	exec 3>"$dir/hold"
	await while_lives $pid grep -q "^$1: asynchronous error [1-9]" "$dir/log"
	say $? "a $1 rank: the next put becomes the other's asynchronous error"
	alive=$(sed -n "s/^$1: asynchronous .* process //p" "$dir/log")
	for c in status doctor gin; do
		"$sh" -p "$alive" -o table $c 2>&1
	done >"$dir/names"
	exec 3>&-
	wait $pid
	say $? "...and the other rank goes on"
	cat "$dir/names" >>"$dir/log"
	[ "$(grep -c "rank 1 is $2 to rank 0" "$dir/names")" -eq 3 ] &&
		grep -q "^gin .* broken 1, rank 1 is $2" "$dir/names"
	say $? "...status, doctor and gin name it: rank 1 is $2"
}
# one that is killed is lost, however long the other one had to wait for the processor
gone killed lost 600000
grep -q 'lost the connection to rank 1' "$dir/nccl"
say $? "...and so does the log"
gone stopped stalled 2000
grep -q 'gin: rank 1 .* has taken nothing from rank 0 for' "$dir/nccl"
say $? "...and so does the log"
# A job that goes on, seen from the shell.
timeout -k 5 200 env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" NCCL_NET_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_GIN=on NCCLBPF_JOB=shown NCCLBPF_POLICY="$B/policies/gin_peers.policy" \
	NCCL_CUMEM_ENABLE=1 NCCL_WIN_ENABLE=1 NCCL_GIN_NCONTEXTS=1 NCCL_SOCKET_IFNAME=lo \
	"$job" --procs --times 100000000 all-to-all >"$dir/shown" 2>&1 &
pid=$!
open() { "$sh" -J shown -o table gin 2>/dev/null | grep -q ' open '; }
await while_lives $pid open
"$sh" -J shown -o table gin >"$dir/log" 2>&1
grep -q '^gin: tcp, 2 collComms' "$dir/log" && grep -q ' self ' "$dir/log" &&
	grep -q ' open ' "$dir/log"
say $? "gin lists both collComms with their peers"
"$sh" -J shown -o table status >"$dir/log" 2>&1
grep -q '^gin .*tcp, 2 collComms' "$dir/log"
say $? "status has a line"
"$sh" -J shown -o json doctor >"$dir/log" 2>&1
grep -q '"name":"gin","level":"ok"' "$dir/log"
say $? "doctor finds it well"
"$sh" -J shown map dump gin_peers >"$dir/log" 2>&1
grep -q 'signals' "$dir/log"
say $? "a policy has counted per peer"
kill $pid 2>/dev/null
wait $pid 2>/dev/null

rm -f "$dir/nccl"
run "$job" --times 1 all-to-all
rc=$?
[ $rc -ne 0 ] && ! grep -q 'the GIN plugin' "$dir/nccl"
say $? "off by default: NCCL finds no GIN device of ours"

if [ -n "${LONG:-}" ]; then
	for ranks in 2 3 4; do
		for how in "" --procs "--procs --nodes 2"; do
			# shellcheck disable=SC2086
			run NCCLBPF_GIN=on "$job" $how --ranks $ranks --times 1000 $modes
			say $? "1,000 times: $ranks ranks $how"
		done
	done
fi
echo "1..$n"
exit $bad
