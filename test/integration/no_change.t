#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 300
# A change that reaches no communicator says so, why, and ends with status 2;
# one that no communicator needs yet is a success.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "changes that reach no communicator" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB ARGS...
	this=$1
	shift
	NCCLBPF_JOB=$this timeout 0 "$B/test/fakes/host/standin" --procs --ranks 2 \
		--seconds inf --pause-ms 2 --min 1M --max 4M "$@" >"$T/$this.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
	need "a job: $this" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
	ok "the job $this ends well" $?
}
policy=$B/policies/size_aware.policy

# ---- the tuner is another one, or none: NCCL loads the profiler alone
export NCCL_PROFILER_PLUGIN="$B/libncclbpf.so"
untuned() { # JOB, TUNER
	NCCL_TUNER_PLUGIN=$2
	export NCCL_TUNER_PLUGIN
	start "$1" --events
	fails 2 unchangeable "$this: no change" -J "$this" policy use "$policy"
	status 2 "$this: a dry run says it" -n -J "$this" policy use size_aware
	status 0 "$this: no policy needs no tuner" -J "$this" policy use none
	run -J "$this" doctor
	has "$this: doctor knows it" out "without ncclbpf's tuner"
	stop
}
untuned two "$B/libncclbpf.so,libother.so"
untuned other none
untuned broken /nowhere/libncclbpf.so

# ---- programs of other hooks need no tuner
NCCL_TUNER_PLUGIN=none
start hooks --events
status 0 "a policy of other hooks alone is used" -J hooks policy use "$B/policies/gin_peers.policy"
stop

# ---- no communicator can change in flight
unset NCCL_PROFILER_PLUGIN
NCCL_TUNER_PLUGIN=$B/libncclbpf.so
for v in 21 22 27; do
	nccl=2.$v.3
	start "v$v" --nccl $nccl
	fails 2 unchangeable "NCCL $nccl: no change in flight" -J "v$v" policy use "$policy"
	run -J "v$v" -o json change status
	has "which change status says, too" out '"state":"unchangeable"'
	stop
done

# ---- one host of several, without a store
mkdir -m 700 b
start hosts --nodes 2 --rank-env 1:NCCLBPF_SOCKET_DIR="$T/b"
fails 2 refused "one host of several: no change" -J hosts policy use "$policy"
stop

# ---- nothing to change yet
mkfifo asks
exec 9<>asks # it asks for no variable and lives
NCCLBPF_JOB=idle NCCL_ENV_PLUGIN=$B/libncclbpf.so "$B/test/fakes/host/env_host" 2 \
	<asks >/dev/null 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach idle >/dev/null 2>&1
need "a job: idle" $?
status 0 "no communicator yet: the change is for those to come" -J idle -o table \
	policy use "$policy"
has "and says so" out "no communicators yet; new communicators use the change"
messages
