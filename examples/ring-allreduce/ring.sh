#!/bin/sh
# SPDX-License-Identifier: MIT
# ring.sh BUILD [OPTIONS OF ring_allreduce]: a ring AllReduce over the net
# plugin alone, and what the policy net_steps saw of it.
set -u
B=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/go"
export NCCLBPF_SOCKET_DIR="$dir" NCCLBPF_JOB=ring \
	NCCLBPF_POLICY="$B/examples/ring-allreduce/net_steps.bpf.o"
export NCCL_SOCKET_IFNAME="${NCCL_SOCKET_IFNAME:-lo}"
"$B/examples/ring-allreduce/ring_allreduce" "$B/libncclbpf.so" \
	--hold "$@" >"$dir/out" 2>"$dir/err" <"$dir/go" &
job=$!
exec 3>"$dir/go"
until grep -qE "ready|failed" "$dir/out"; do
	kill -0 $job 2>/dev/null || break
	sleep 0.05
done
rc=0
if grep -q ready "$dir/out"; then
	grep -v ready "$dir/out"
	echo
	"$B/ncclbpf-shell" -f examples/ring-allreduce/report.lua || rc=1
fi
exec 3>&-
wait $job || rc=1
cat "$dir/err" >&2
exit $rc
