#!/bin/sh
# SPDX-License-Identifier: MIT
# ring.sh BUILD OUT.json [OPTIONS OF ring_allreduce]: a ring AllReduce over verbs,
# with the tap and the policies of the demo; what they saw goes to OUT.json.
# BEFORE=COMMAND runs when the processes are there and not yet connected,
# DURING=COMMAND when they have ended their rounds.
set -u
B=$1 out=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/go"
ring=$B/examples/ring-allreduce
export NCCLBPF_SOCKET_DIR="$dir" NCCLBPF_JOB=ring NCCLBPF_VERBS=on \
	NCCLBPF_CHAIN_NET="$B/test/fakes/verbs/libnccl-net-verbs.so"
rdma=$B/examples/rdma
export NCCLBPF_POLICY="$rdma/timeline.bpf.o:$rdma/qp_watch.bpf.o:$rdma/qp_tune.bpf.o"
NCCLBPF_POLICY="$NCCLBPF_POLICY:$ring/net_steps.bpf.o"
"$ring/ring_allreduce" "$B/libncclbpf.so" --wait --hold "$@" >"$dir/out" 2>"$dir/err" <"$dir/go" &
job=$!
exec 3>"$dir/go"
until_says() {
	until grep -q "^$1" "$dir/out"; do
		grep -q '^failed' "$dir/out" && return 1
		kill -0 $job 2>/dev/null || return 1
		sleep 0.05
	done
}
rc=1
if until_says waiting && sh -c "${BEFORE:-:}" && echo go >&3 && until_says ready; then
	grep 'every sum' "$dir/out"
	sh -c "${DURING:-:}" && "$B/ncclbpf-shell" -f examples/rdma/collect.lua >"$out" && rc=0
fi
exec 3>&-
wait $job || rc=1
cat "$dir/err" >&2
exit $rc
