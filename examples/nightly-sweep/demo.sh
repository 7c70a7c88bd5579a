#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh BUILD: two nights of nightly.sh on a job that replays published times.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
mkdir -m 700 "$dir/s"
export NCCLBPF_SOCKET_DIR="$dir/s" NCCLBPF_JOB=night NO_COLOR=1 XDG_STATE_HOME="$dir/state"
export NCCLBPF_TIMES="replayed from test/fakes/vgpu/b300.csv (published figures of 8 x B300)"
PATH=$B:$PATH
job=
finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

NCCL_TUNER_PLUGIN=$B/libncclbpf.so \
	"$B/test/fakes/host/standin" --ranks 8 --procs --events --seconds 200 --pause-ms 1 \
	--min 1M --max 64M --factor 4 --table test/fakes/vgpu/b300.csv >"$dir/log" 2>&1 &
job=$!
turn=0
until timeout 20 ncclbpf-shell -q attach night >/dev/null 2>&1; do
	turn=$((turn + 1))
	[ $turn -lt 300 ] || exit 1
	sleep 0.1
done
for night in one two; do
	echo "night $night"
	sh examples/nightly-sweep/nightly.sh "$dir/out" 2>&1 | sed "s#$dir/##g" || exit 1
	echo
done
cat "$dir/out/nightly.csv"
timeout 20 ncclbpf-shell check agreement
