#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: the same policy put into a running job twice: by each process
# for itself, and by a fence. DEMO_HOST=standin takes the mock NCCL even where
# libnccl is at hand.
set -u
B=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=demo NO_COLOR=1
export NCCL_TUNER_PLUGIN=$B/libncclbpf.so
PATH=$B:$PATH
began=$SECONDS
job=
set -m # the job is a process group of its own

# Whatever state the job is in: none of its processes is left.
kill_job() {
	[ "$job" ] || return
	disown "$job" 2>/dev/null # bash need not tell
	# NCCL's files of 33 MiB a rank, which a killed job leaves in shared memory
	pgrep -g "$job" | sed 's,.*,/proc/&/maps,' | xargs -r grep -hso '/dev/shm/nccl-[^/ ]*' |
		sort -u >"$dir/shm"
	kill -KILL "-$job" 2>/dev/null
	for _ in $(seq 200); do
		# the fifth word is the process group; a zombie waits for init
		cat /proc/[0-9]*/stat 2>/dev/null |
			awk -v g="$job" '$5 == g && $3 !~ /[ZX]/ { n++ } END { exit !n }' || break
		sleep 0.05
	done
	xargs -r rm -f <"$dir/shm"
	job=
}
finish() {
	kill_job
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() { printf '\n%s\n' "$*"; }
title() { printf '\n%s\n%s\n' "$1" "${1//?/-}"; }
fail() {
	echo "demo: $*" >&2
	tail -5 "$dir/log" >&2
	exit 1
}
short() { sed "s#$PWD/##g; s#$dir/#DIR/#g"; }
# Show a command and run it; $1 is the exit status that it must have.
do_() {
	local want=$1 rc
	shift
	printf '\n$ ncclbpf-shell %s\n' "$*" | short
	timeout 30 ncclbpf-shell -o table "$@" 2>&1 | short
	rc=${PIPESTATUS[0]}
	[ "$rc" -eq "$want" ] || fail "exit status $rc, not $want"
	[ "$rc" -eq 0 ] || echo "[exit status $rc]"
}
passed() {
	for _ in $(seq 100); do
		timeout 10 ncclbpf-shell -f examples/demo/passed.lua && return
		sleep 0.05
	done
	fail "the ranks do not pass the fence"
}

options="--ranks 8 --procs --coll allreduce --min 4M --max 32M --seconds 400"
start() { # command and options of the job
	rm -f "$dir"/demo.seg
	: >"$dir/report"
	# should nobody be left to end it, time does
	TMPDIR=$dir timeout -s KILL 420 "$@" --report "$dir/report" >"$dir/log" 2>&1 &
	job=$!
	for _ in $(seq 1800); do
		[ "$(lines)" -ge 20 ] && return 0
		kill -0 $job 2>/dev/null || break
		sleep 0.1
	done
	kill_job
	return 1
}
# The real NCCL: all algorithms are connected at the start, so that ranks that
# disagree reach the GPUs; a hang is reported and goes on, as in life.
real() {
	# shellcheck disable=SC2086
	start env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_DIR="$dir" VGPU_GPU=b300 \
		VGPU_MULTICAST=1 VGPU_CLOCK=virtual VGPU_TABLE=test/fakes/vgpu/b300.csv \
		VGPU_HANG_S=0 VGPU_REPORT_S=2 NCCL_RUNTIME_CONNECT=0 \
		"$B/test/fakes/vgpu/job" $options
}
standin() {
	# shellcheck disable=SC2086
	start "$B/test/fakes/host/standin" --hang --table test/fakes/vgpu/b300.csv $options
}
load() {
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
# What the virtual GPUs saw: the first report that names every rank's launch.
gpus() {
	for _ in $(seq 300); do
		grep -q HANG "$dir/log" && break
		sleep 0.1
	done
	awk '/HANG: / && !on { on = 1; sub(/.*HANG: /, "") ; print "  " $0; next }
		on && /^  rank/ { print "  " $0; next } on { exit }' "$dir/log" | cut -c1-110
}

host=standin
if [ "${DEMO_HOST:-}" != standin ] && [ -x "$B/test/fakes/vgpu/job" ] && real; then
	host=real
else
	standin || fail "the job does not start"
fi
if [ $host = real ]; then
	echo "An 8-rank job, one process a rank: the real NCCL 2.28.9 on virtual GPUs."
else
	echo "An 8-rank job, one process a rank, run by a mock NCCL (no transport):"
	echo "it stands still where ranks decide differently, as GPUs do."
	[ "${DEMO_HOST:-}" = standin ] ||
		echo "There is no libnccl 2.28.9 with CUDA headers here."
fi
echo "The policy size_aware is right on every rank. Only how it gets there differs."

title "1. Without a fence: every process switches at its own next decision"
load
hung=
for i in $(seq 20); do
	for what in size_aware none; do
		timeout 10 ncclbpf-shell -f examples/coherence/stage.lua "$what" || break
		"$B/test/fakes/host/naive" "$dir" demo >"$dir/naive" ||
			fail "the naive reload does not work"
		sleep 0.1
	done
	timeout 10 ncclbpf-shell check agreement >/dev/null 2>&1 || { hung=1 && break; }
done
[ "$hung" ] || fail "20 reloads in and out, and the ranks still agree"
say "\$ test/fakes/host/naive (in and out, turn $i)"
cat "$dir/naive"
stands_still || fail "ranks that disagree go on"
say "The job stands still and NCCL says nothing."
if [ $host = real ]; then
	say "What its kernels wait for, as the virtual GPUs see it:"
	gpus | grep . || fail "the GPUs report no hang"
fi
say "check agreement names the decision, both answers and who gave them:"
do_ 2 check agreement
say "The job is killed. The segment that it leaves still tells:"
kill_job
do_ 2 check agreement segment="$dir/demo.seg"

title "2. With a fence: the same policy, the same load, in and out 10 times"
"$host" || fail "the job does not start"
load
for i in $(seq 10); do
	for what in size_aware none; do
		# ranks on a busy machine may run past every fence that is tried
		for _ in 1 2 3 4 5 6; do
			timeout 30 ncclbpf-shell -o table policy use $what >"$dir/use" 2>&1 && break
		done || { cat "$dir/use"; fail "change $i"; }
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
[ $host = real ] && grep -q HANG "$dir/log" && fail "a GPU reports a hang"
say "20 changes in $(lines) collectives of each rank: none hung, none differed," \
	"the job has ended well ($((SECONDS - began)) s)."
