#!/bin/sh
# SPDX-License-Identifier: MIT
# fleet.sh BUILD: a change of SITES sites with RANKS ranks each (8, 8) over three
# etcd members on this machine, CHANGES times (30): from the request's write to the
# last rank that decides with the new generation. Prints median and 99th
# percentile, and what an idle agent costs. Then the same for CURVE (8 64 256)
# simulated sites: the real agents, in one process, over ranks that are numbers.
set -u
B=$(cd "$1" && pwd)
export B
TOP=$(cd "$(dirname "$0")/../.." && pwd)
sites=${SITES:-8} ranks=${RANKS:-8} changes=${CHANGES:-30} members=${MEMBERS:-3}
dir=$(mktemp -d)
job= services=
end() {
	[ "$job" ] && kill "$job" 2>/dev/null
	[ "$services" ] && kill "$services" 2>/dev/null
	wait 2>/dev/null
	"$TOP/test/fakes/etcd/etcd.sh" stop "$dir/etcd" >/dev/null 2>&1
	rm -rf "$dir"
}
trap end EXIT
"$TOP/test/fakes/etcd/etcd.sh" start "$dir/etcd" members="$members" >/dev/null || exit 1
NCCLBPF_FLEET=$(cat "$dir/etcd/endpoints")
export NCCLBPF_FLEET NCCLBPF_JOB=bench NCCL_TUNER_PLUGIN="$B/libncclbpf.so"
set --
s=0 places=
while [ $s -lt "$sites" ]; do
	mkdir -m 700 "$dir/$s"
	places="$places $dir/$s"
	r=0
	while [ $r -lt "$ranks" ]; do
		set -- "$@" --rank-env "$((s * ranks + r)):NCCLBPF_SOCKET_DIR=$dir/$s"
		r=$((r + 1))
	done
	s=$((s + 1))
done
# shellcheck disable=SC2086
"$TOP/test/fakes/etcd/agents.py" bench $places >>"$dir/log.agents" 2>&1 &
services=$!
"$B/test/fakes/host/standin" --ranks $((sites * ranks)) --nodes "$sites" --procs --min 4M \
	--max 32M --seconds 600 --pause-ms 10 --stalls "$@" >"$dir/log" 2>&1 &
job=$!
python3 "$TOP/test/bench/fleet.py" "$NCCLBPF_FLEET" "$sites" "$((sites * ranks))" "$changes" \
	"$B" "$dir"
kill "$job"
wait "$job"
job=
grep "waited at" "$dir/log"
for n in ${CURVE-8 64 256}; do
	python3 "$TOP/test/bench/fleet_scale.py" "$NCCLBPF_FLEET" "$n" "$ranks" 10 "$B" "$dir/etcd"
done
