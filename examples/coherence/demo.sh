#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: the same policy put into a running job twice: by each process
# for itself, and by a fence.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so
PATH=$B:$PATH
job=
finish() {
	[ "$job" ] && kill -KILL "-$job" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
set -m # the job is a process group of its own

say() { printf '\n%s\n' "$*"; }
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
# Show a command and run it; $1 is the exit status that it must have.
do_() {
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | sed "s#$PWD/##g; s#$dir/#DIR/#g"
	timeout 30 ncclbpf-shell -o table "$@" 2>&1 | sed "s#$PWD/##g; s#$dir/#DIR/#g"
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
}
passed() {
	for _ in $(seq 100); do
		timeout 10 ncclbpf-shell -f examples/demo/passed.lua && return
		sleep 0.05
	done
	fail "the ranks do not pass the fence"
}

kill_job() {
	disown $job # bash need not tell
	kill -KILL -$job 2>/dev/null
	while kill -0 -$job 2>/dev/null; do sleep 0.05; done
	job=
}

options="--ranks 8 --procs --coll allreduce --min 4M --max 32M --seconds 100"
start() {
	: >"$dir/report"
	# shellcheck disable=SC2086
	"$B/test/host/standin" --hang --table test/vgpu/b300.csv $options \
		--report "$dir/report" >"$dir/log" 2>&1 &
	job=$!
	for _ in $(seq 300); do
		[ "$(wc -l <"$dir/report")" -ge 20 ] && return 0
		kill -0 $job 2>/dev/null || break
		sleep 0.1
	done
	return 1
}
run() {
	rm -f "$dir"/demo.seg
	start || fail "the job does not start"
	timeout 30 ncclbpf-shell policy load "$B/policies/size_aware.policy" >/dev/null ||
		fail "the policy cannot be loaded"
}
lines() { wc -l <"$dir/report"; }
# No decision for a second: in the end, and the job is not merely slow?
stands_still() {
	local before
	for _ in $(seq 30); do
		before=$(lines)
		sleep 1
		[ "$(lines)" -eq "$before" ] && return
	done
	return 1
}
goes_on() {
	local before
	before=$(lines)
	for _ in $(seq 300); do
		[ "$(lines)" -gt "$before" ] && return
		sleep 0.1
	done
	return 1
}

echo "An 8-rank job, one process a rank, run by a stand-in for NCCL (no transport):"
echo "it stands still where ranks decide differently, as GPUs do."
echo "The policy size_aware is right on every rank. Only how it gets there differs."

say "1. Without a fence: every process switches at its own next decision."
run
for i in $(seq 20); do
	stands_still=
	for what in size_aware none; do
		timeout 10 ncclbpf-shell -f examples/coherence/stage.lua "$what" || break
		"$B/test/host/naive" "$dir" demo >"$dir/naive" || fail "the naive reload does not work"
		sleep 0.1
	done
	timeout 10 ncclbpf-shell check agreement >/dev/null 2>&1 || break
done
say "$(cat "$dir/naive") (turn $i)"
stands_still || fail "ranks that disagree go on"
say "The job stands still; NCCL says nothing. check agreement does:"
do_ 2 check agreement
say "The job is killed. Its segment still tells:"
kill_job
do_ 2 --segment "$dir/demo.seg" check agreement

say "2. With a fence: the same policy, the same load, in and out 10 times."
run
for i in $(seq 10); do
	for what in size_aware none; do
		timeout 30 ncclbpf-shell policy use $what >"$dir/use" 2>&1 || { cat "$dir/use"; fail "change $i"; }
		passed
	done
done
printf '\n$ ncclbpf-shell policy use none\n'
cat "$dir/use"
goes_on || fail "the job stands still"
do_ 0 check agreement
kill -TERM $job
wait $job
rc=$?
job=
[ $rc -eq 0 ] || fail "the job ended with status $rc"
say "20 changes, the job went on and has ended well: no rank hung, no rank differed."
