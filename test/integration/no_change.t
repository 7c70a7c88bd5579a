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
	await both
	need "a job: $this" $?
}
both() { # one rank of host b has its socket there
	[ "$(ls s b 2>/dev/null | grep -c "^$this\..*sock\$")" -eq 2 ] &&
		timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
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
start clockless --nccl 2.29.7
fails 2 unchangeable "NCCL 2.29.7 without the profiler: no change in flight" -J clockless \
	policy use "$policy"
run -J clockless -o json change status
has "which change status says, too" out '"state":"unchangeable"'
stop

# ---- communicators without identity keep what the environment says
for v in 21 22 27; do
	nccl=2.$v.3
	start "v$v" --nccl $nccl
	fails 2 unchangeable "NCCL $nccl: no change in flight" -J "v$v" policy use "$policy"
	has "NCCL $nccl: nor of new ones" err "without identity start with NCCLBPF_POLICY"
	run -J "v$v" doctor
	has "NCCL $nccl: doctor knows it" out "they keep the policies of NCCLBPF_POLICY"
	stop
done

# ---- NCCL 2.27 tells the profiler which communicator it is
export NCCL_PROFILER_PLUGIN="$B/libncclbpf.so"
start named --nccl 2.27.3 --events
status 0 "NCCL 2.27.3 with the profiler: a change in flight" -J named policy use "$policy"
stop

# ---- its ranks in a process that starts after a change follow it with their peers, not before
late() { # RANK
	NCCLBPF_JOB=late timeout 0 "$B/test/fakes/host/standin" --rank "$1" --meet "$T/meet" \
		--ranks 2 --nccl 2.27.3 --events --seconds inf --pause-ms 2 --min 1M --max 4M \
		>"$T/late.$1" 2>&1 &
	jobs="$jobs $!"
}
first() { timeout 300 "$S" -q attach late >/dev/null 2>&1; }
have() { # GENERATION
	timeout 300 "$S" -q -J late -o json comm list >comms
	[ "$(grep -o "\"generation\":$1," comms | wc -l)" -eq 2 ]
}
late 0
job=$! this=late
await first
run -J late policy use "$policy"
late 1
await have 0
ok "both ranks have what the environment says" $?
status 0 "a dry run gives the late process the policy" -J late -n policy use "$policy"
await have 1
ok "and both ranks follow" $?
kill -TERM $!
stop
unset NCCL_PROFILER_PLUGIN

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
