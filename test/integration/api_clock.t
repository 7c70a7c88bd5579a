#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Fences by calls of NCCL's API: a rank whose tuner is asked more often than
# its peers' (as NCCL 2.29 may) takes part in changes where the profiler sees
# the calls, and is named; without, or where the calls themselves differ, no
# change is made. The host ends with status 3 where ranks decided differently.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "fences by calls of the API" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB ARGS...
	this=$1
	shift
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO \
		timeout 0 "$B/test/fakes/host/standin" --procs --ranks 3 --seconds inf \
		--pause-ms 2 --min 1K --max 64M --factor 4 "$@" >"$T/$this.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
	need "a job: $this" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
verdict() { # of the job's communicator, and what its clock counts
	timeout 300 "$S" -q -J "$this" -o json check agreement 2>/dev/null |
		sed -n 's/.*"verdict":"\([a-z_]*\)".*"clock":"\([a-z_]*\)".*/\1 \2/p'
}
is() { [ "$(verdict)" = "$1" ]; }
used() { # POLICY: a busy machine's ranks may run past every fence that is tried
	for _ in 1 2 3 4 5 6; do
		timeout 300 "$S" -q -J "$this" policy use "$1" >>"$T/use" 2>&1 && return
	done
	cat "$T/use" >"$T/why"
	return 1
}
changes() { # in and out
	timeout 300 "$S" -q -J "$this" policy load "$B/policies/size_aware.policy" >"$T/why" 2>&1 &&
		used size_aware && used none && used size_aware && used none
}

# the answer depends on the number of the decision
NCCLBPF_POLICY=$B/test/corpus/accept/output_from_decision_number.bpf.o
if [ -e "$NCCLBPF_POLICY" ]; then
	export NCCLBPF_POLICY
	NCCLBPF_SEQ=$NCCLBPF_POLICY
else
	unset NCCLBPF_POLICY
fi
start probe --nccl 2.29.3 --events --probe 2:50
await is "tuner_calls_differ api_calls"
ok "NCCL 2.29: a rank that is asked more often is found" $?
status 0 "and nothing is wrong" -J probe check agreement
run -J probe -o table check agreement
has "it is named" out "agree after each call of NCCL's API" "more than others among the recorded" \
	"decisions after"
if [ -n "${NCCLBPF_POLICY:-}" ]; then
	run -J probe -o json policy list
	grep -q 'output_from_decision_number' out
	ok "a policy is in use whose answers depend on the number of the decision" $?
fi
changes
ok "policies change" $?
stop
ok "and all ranks decided alike at each collective" $?
unset NCCLBPF_POLICY

# ---- without the clock of API calls: NCCL 2.29 may ask some tuners only

# windows JOB ARGS...: NCCL asks rank 0 alone, until the file go exists
windows() {
	rm -f "$T/go"
	name=$1
	shift
	start "$name" --windows "0:$T/go" "$@"
}
# Every rank has decided outside of windows, so a change that is wrong has been seen.
plainly() {
	[ "$(timeout 300 "$S" -q -J "$this" -o json comm list 2>/dev/null |
		grep -o '"decisions":[0-9]*' | awk -F: '$2 > 300' | wc -l)" -eq 3 ]
}
load() {
	run -J "$this" policy load "$B/policies/size_aware.policy"
}
refused() { # JOB: a change, and then the collectives that all ranks decide
	await is "counts_differ $2"
	ok "$1: one rank decides and the others do not: their counts differ" $?
	load
	fails 2 unchangeable "$1: no change is made in flight" -J "$1" policy use size_aware
	run -J "$1" -o json comm list
	has "$1: comm list knows it before" out '"changeable":false' "NCCL_PROFILER_PLUGIN"
	run -J "$1" -o table check agreement
	has "$1: and check agreement" out "COUNTS DIFFER" "ranks have made " \
		"NCCL_PROFILER_PLUGIN"
	: >"$T/go"
	await plainly && stop
	ok "$1: all ranks decide alike afterwards" $?
}

windows v5 --nccl 2.29.7
refused v5 none
windows v6 --nccl 2.32.3
refused v6 none
windows newer --nccl 2.33.1
run -J newer -o json doctor
has "a release that is not known yet is named" out \
	'"name":"nccl","level":"warn","text":"NCCL 2.33.1 is newer than 2.32.7, the newest'
has "also in the log" newer.out "ncclbpf: NCCL 2.33.1 is newer than 2.32.7, the newest"
refused newer none
NCCLBPF_API_CLOCK=off
export NCCLBPF_API_CLOCK
windows off --nccl 2.29.7 --events
refused off none
unset NCCLBPF_API_CLOCK

windows clocked --nccl 2.29.7 --events
await is "counts_differ api_calls"
load
status 0 "with the profiler a change is made meanwhile" -J clocked policy use size_aware
: >"$T/go"
await plainly && stop
ok "and all ranks decide alike" $?

if [ -n "${NCCLBPF_SEQ:-}" ]; then
	NCCLBPF_POLICY=$NCCLBPF_SEQ
	export NCCLBPF_POLICY
	windows initial --nccl 2.29.7
	await is "counts_differ none"
	: >"$T/go"
	await plainly
	ok "an initial policy that reads the number of the decision is in use" $?
	run -J initial -o json explain allreduce 1M
	has "and explain runs it" out '"name":"output_from_decision_number"'
	stop
	ok "and answers alike on ranks that count differently" $?
	unset NCCLBPF_POLICY
fi

start without --nccl 2.29.3 --probe 2:50
await is "counts_differ none"
ok "without the profiler a rank that is asked more often is found" $?
load
fails 2 unchangeable "and no change is made" -J without policy use size_aware
stop
ok "and all ranks decided alike" $?

start calls --nccl 2.29.3 --events --calls-only 2:50
await is "api_calls_differ api_calls"
ok "a rank that calls the API more often is found" $?
run -J calls policy load "$B/policies/size_aware.policy"
ends 2 ranks_disagree "and no change is made: no call is the same place for all" -J calls policy \
	use size_aware
stop

start old --nccl 2.28.9 --events
await is "agreed decisions"
ok "before NCCL 2.29 the tuner's calls are counted" $?
# The first collectives connect NCCL's profiler channels, which takes an event.
asks_nothing() {
	timeout 300 "$S" -J old -o json trace status >out 2>err && ! grep -q '"asked":\["' out
}
await asks_nothing
ok "and NCCL is asked for no events" $?
stop

start odd --nccl 2.28.9 --probe 2:50
await is "diverged decisions"
status 2 "there a rank that is asked more often has diverged" -J odd check agreement
has "the advice fits a job without a policy" err "no policy is in use"
! grep -q "policy use none" err
ok "which cannot use none instead" $?
stop

start one --nccl 2.29.3 --events --rank-env 1:NCCLBPF_API_CLOCK=off
await is "agreed none"
ok "where one rank does not see calls the ranks have no clock" $?
load
fails 2 unchangeable "and no change is made where one rank counts none" -J one policy use size_aware
stop
ok "all ranks decided alike" $?

NCCLBPF_API_CLOCK=on
export NCCLBPF_API_CLOCK
start on --nccl 2.28.9 --events --probe 0:30
await is "tuner_calls_differ api_calls"
ok "NCCLBPF_API_CLOCK=on: NCCL 2.28 too" $?
changes
ok "with changes, too" $?
stop
ok "on all ranks at once" $?
messages
