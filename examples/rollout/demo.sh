#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: two rollouts on a job of eight ranks. A better policy is found
# better and promoted; a bad one is stopped by its guard and rolled back.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1 XDG_STATE_HOME=$dir/state
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so
PATH=$B:$B/test/host:$PATH
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
	timeout 120 ncclbpf-shell -o table "$@" 2>&1 | short
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
	[ "$rc" -eq 0 ] || echo "[exit status $rc]"
}

# The published times, and a twentieth of the bandwidth with one channel.
{
	grep '^collective' test/vgpu/b300.csv
	awk -F, '$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }' test/vgpu/b300.csv
	grep -v '^#\|^collective' test/vgpu/b300.csv
} >"$dir/times.csv"

title "Eight ranks, AllReduce from 1 MiB to 64 MiB"
say "A stand-in for NCCL replays published times of 8 x B300 (test/vgpu/b300.csv);"
say "nothing here was measured on a GPU. One channel is assumed to be 20 times slower."
standin --ranks 8 --procs --events --seconds 600 --pause-ms 1 --min 1M --max 64M \
	--factor 4 --table "$dir/times.csv" >"$dir/log" 2>&1 &
job=$!
for _ in $(seq 200); do
	timeout 5 ncclbpf-shell -q attach demo >/dev/null 2>&1 && break
	sleep 0.05
done
do_ 0 policy load "$B/policies/nvlink_ring_mid.policy"
do_ 0 policy load "$B/examples/rollout/one_channel.bpf.o"

title "A better policy"
do_ 0 rollout plan examples/rollout/ring_mid.lua
do_ 0 rollout start examples/rollout/ring_mid.lua
do_ 0 rollout history
do_ 0 check agreement

report=${1%/}/rollout.html
do_ 0 rollout report "$report" label="Times are replayed from published figures of 8 x B300; nothing was measured on a GPU."

title "A bad policy"
do_ 2 rollout start examples/rollout/one_channel.lua
do_ 0 rollout history
do_ 0 check agreement
do_ 0 status

say "The report: $report"
say "Done in $((SECONDS - began)) s."
