# SPDX-License-Identifier: MIT
# Sourced by the demos of jobs with three communicators, with the build folder
# in $1: a job of the mock NCCL that replays published times, named
# demo, and do_ to show a command and run it.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1 XDG_STATE_HOME=$dir/state
export NCCLBPF_TIMES="replayed from test/fakes/vgpu/b300.csv (published figures of 8 x B300)"
PATH=$B:$B/test/fakes/host:$PATH
job=

finish() {
	[ "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
# Show a command and run it; $1 is the exit status that it must have.
do_() {
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | sed "s#$B/##g"
	timeout 60 ncclbpf-shell -o table "$@" 2>&1 | sed "s#$PWD/##g; s#$dir/#DIR/#g"
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
	[ "$rc" -eq 0 ] || echo "[exit status $rc]"
}
# What communicator $1 decides with now is $2.
decides() {
	local got=
	for _ in $(seq 300); do
		got=$(timeout 10 ncclbpf-shell -o json comm show "$1" |
			grep -o '"policies":\[[^]]*\]' | sort -u)
		[ "$got" = "\"policies\":[$2]" ] && return
		sleep 0.1
	done
	fail "communicator $1 has $got, not $2"
}

# The published times, and a twentieth of the bandwidth with one channel.
{
	grep '^collective' test/fakes/vgpu/b300.csv
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' test/fakes/vgpu/b300.csv
	grep -v '^#\|^collective' test/fakes/vgpu/b300.csv
} >"$dir/times.csv"
NCCL_TUNER_PLUGIN=$B/libncclbpf.so standin --ranks 2 --procs --groups 3 --events --seconds 300 \
	--pause-ms 5 --min 4M --max 64M --factor 4 --table "$dir/times.csv" >"$dir/log" 2>&1 &
job=$!
for _ in $(seq 200); do
	timeout 5 ncclbpf-shell -q attach demo >/dev/null 2>&1 && break
	sleep 0.05
done
echo "Two ranks, three communicators, AllReduce from 4 MiB to 64 MiB. A mock NCCL"
echo "replays published times of 8 x B300; nothing here was measured on a GPU."
