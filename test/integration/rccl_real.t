#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The plugin inside the real RCCL on virtual GPUs of AMD's: a policy's answers are launched,
# impossible ones are not, changes reach four processes at one collective, two nodes. Only
# make check-nccls builds the job with RCCL.
. "$TOP/test/integration/shm_room.sh"
shm_room "real RCCL" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
V=$B/test/fakes/vgpu
grep -qs librccl.so.1 "$V/job" ||
	skip_all "real RCCL" "this job has NCCL; make check-nccls builds one with RCCL"
trap finish EXIT
cd "$T" || exit 1
unset NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN NCCL_ALGO NCCL_PROTO NCCL_DEBUG
unset VGPU_DIR VGPU_TABLE VGPU_COUNT
export RCCL_USE_ROCM_SMI_LIB=1 VGPU_CLOCK=virtual VGPU_LOG=1 NCCL_SOCKET_IFNAME=lo
export NCCLBPF_POLICY=
ours="NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so"
answers=$B/test/corpus/answers
all=allreduce,allgather,reducescatter,broadcast,reduce

# rccl LOG [NAME=value...] -- ARGUMENTS of the job
rccl() {
	log=$1
	shift
	vars=
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	# shellcheck disable=SC2086 # a list of variables
	env $vars timeout $HANG "$V/job" "$@" >"$log" 2>&1
	rc=$?
	tail -n 20 "$log" >"$T/why"
}
launches() { grep -o 'launch rank [0-9]* #[0-9]* .*' "$1"; }
kinds() { launches "$1" | sed 's/.* #[0-9]* //' | sort | uniq -c; }
# as_own LOG: true if LOG has the launches of the run without the plugin
as_own() { kinds "$1" | diff own.kinds - >>"$T/why"; }
# obeyed LOG PATTERN: launches of collectives are all of that kind
obeyed() {
	launches "$1" >launched
	grep -vE "$2" launched | head >>"$T/why"
	[ -s launched ] && ! grep -qvE "$2" launched
}
# alike LOG RANKS: true if all ranks have launched the same collectives
alike() {
	for r in $(seq 0 $(($2 - 1))); do
		launches "$1" | grep -v SendRecv | sed -n "s/launch rank $r #/#/p" |
			sort -u >"ran.$r"
		[ -s "ran.$r" ] && cmp "ran.0" "ran.$r" >>"$T/why" 2>&1 || return 1
	done
}
few="--ranks 4 --coll $all --min 64K --max 16M --factor 16"

# ---- decisions, in one process ----
# shellcheck disable=SC2086 # lists of arguments
{
	rccl own -- $few
	need "a job without the plugin" $rc
	[ "$("$V/job" --nccl)" = 22707 ] && [ "$(launches own | wc -l)" -eq 60 ]
	ok "RCCL 2.27.7 launches five collectives of three sizes on four ranks" $?
	kinds own >own.kinds

	rccl idle $ours -- $few
	[ $rc -eq 0 ] && as_own idle
	ok "a plugin without a policy changes no launch (status $rc)" $?
	rccl four $ours NCCLBPF_POLICY="$answers/ring_ll_four.policy" -- $few
	[ $rc -eq 0 ] && obeyed four ' RING/LL channels 0\.\.3, ' && alike four 4
	ok "every launch is what the policy chose: Ring, LL, four channels" $?
	rccl unusable $ours NCCL_DEBUG=INFO NCCLBPF_POLICY="$answers/unusable.policy" -- $few
	[ $rc -eq 0 ] && as_own unusable && grep -q 'policy unusable .* decides' unusable
	ok "CollNet on one node: RCCL launches its own choices (status $rc)" $?
}

# Two ranks have 126 channels.
printf 'allreduce,0,-1,ring,simple,100,-1,-1\n' >wide.csv
status 0 "a table of 100 channels" policy build wide.csv
# shellcheck disable=SC2086 # a list of variables
rccl wide $ours NCCLBPF_POLICY="$T/wide.policy" -- --ranks 2 --min 256M --max 256M
[ $rc -eq 0 ] && obeyed wide ' RING/SIMPLE channels 0\.\.99, '
ok "which is more than NCCL has: they are launched (status $rc)" $?

# ---- changes, in four processes ----
# Kernels take 2 ms and more by a clock that runs, else no length of a tick can be measured.
export NCCLBPF_JOB=amd VGPU_CLOCK=real VGPU_BASE_US=2000
# shellcheck disable=SC2086 # a list of variables
env $ours timeout 0 "$V/job" --ranks 4 --procs --seconds inf --coll allreduce,sendrecv --min 64K \
	--max 16M --factor 16 >procs 2>&1 &
amd=$!
jobs="$jobs $amd"
all_decide() {
	run -o json comm list
	[ "$(grep -o '"decisions":[1-9]' out | wc -l)" -eq 4 ]
}
await while_lives $amd all_decide
need "four processes decide" $?
[ "$(grep -o '"tuner_abi":4,' out | wc -l)" -eq 4 ] &&
	[ "$(grep -o '"changeable":true' out | wc -l)" -eq 4 ]
ok "RCCL calls tuner v4, and the profiler gets the communicator's identity" $?
status 0 "status" -o json status
has "names the library" out '"library":"RCCL 2.27.7"'
status 0 "policy load" policy load "$answers/ring_ll_four.policy"
status 0 "a change" policy use ring_ll_four
await settled amd
ok "all ranks have passed its fence" $?
agreed() {
	run -o json check agreement
	[ $rc -eq 0 ] && grep -q '"verdict":"agreed"' out
}
await while_lives $amd agreed
ok "check agreement: all decided alike" $?
status 0 "an impossible policy" policy load "$answers/unusable.policy"
status 0 "in use" policy use unusable
refused() { run -o json doctor; grep -q '"refused","level":"warn","text":"unusable, [1-9]' out; }
await while_lives $amd refused
ok "its answers are dropped and counted, and doctor says so" $?
status 0 "the change taken back" policy use none
await settled amd
ok "all ranks have passed the last fence" $?
timed() {
	run telemetry on
	run -o json stats
	grep -q '"coll":"allreduce".*"gpu":{"count":[1-9].*"source":"kernel_gpu"' out
}
await while_lives $amd timed
ok "stats has the collectives' times by the GPU's clock" $?
# Those of a moment in which others leave the processors to the kernels.
ticks() {
	run -o json stats
	grep -o '"gpu":{"count":[1-9][0-9]*,"sum_ns":[0-9]*,"mean_ns":[0-9]*' out >took
	grep -q '"mean_ns":[2-3][0-9]\{6\}$' took && return
	cat took >>"$T/why"
	run telemetry clear
	return 1
}
await while_lives $amd ticks
ok "whose ticks are 10 ns" $?
has "RCCL calls profiler v4" out '"profiler_abi":4,'
run telemetry off
kill -TERM $amd
wait $amd
rc=$?
tail -n 20 procs >"$T/why"
[ $rc -eq 0 ] && ! grep -q HANG procs && alike procs 4
ok "it ends, and all ranks have launched the same, one by one (status $rc)" $?
launches procs | grep -q ' RING/LL channels 0\.\.3, 16777216 ' &&
	launches procs | tail -n 60 | grep -qF "$(sed -n \
		's/^ *[0-9]* \(AllReduce.* 16777216 bytes\).*/\1/p' own.kinds)"
ok "the change was launched, and in the end RCCL's own choice again" $?

export VGPU_CLOCK=virtual VGPU_BASE_US=6

# ---- two nodes, over sockets ----
# shellcheck disable=SC2086 # a list of variables
rccl nodes $ours NCCL_NET=Socket NCCL_DEBUG=INFO NCCLBPF_POLICY="$answers/ring_ll_four.policy" -- \
	--ranks 4 --procs --per-node 2 --coll $all --min 64K --max 1M --factor 16
grep -q 'nRanks 4 nNodes 2 ' nodes && obeyed nodes ' RING/LL channels 0\.\.3, ' && [ $rc -eq 0 ]
ok "two pretended nodes of two processes obey, and end (status $rc)" $?

# ---- ranks that disagree ----
# Connected at init: else the host side of RCCL hangs first.
for wait in 1 5 20 300; do # a busy machine launches later
	rccl odd NCCL_TUNER_PLUGIN="$V/tuner_force.so" FORCE=1,2,0 FORCE_RANK=1 VGPU_HANG_S=$wait \
		NCCL_RUNTIME_CONNECT=0 -- --ranks 3 --max 1K
	grep -q 'has not launched' odd || break
done
grep -q 'HANG: communicator .* collective #0' odd && [ $rc -eq 1 ] &&
	grep -q '^  rank [0-9]: AllReduce Sum f32 RING/SIMPLE channels' odd &&
	grep -q '^  rank [0-9] [0-9]: AllReduce Sum f32 RING/LL channels' odd
ok "another protocol on one rank hangs, and the report names both" $?
