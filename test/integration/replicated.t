#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Replicated maps: ranks that make the calls of two communicators in different orders,
# are asked at different calls, and change policies meanwhile, count and decide alike.
# Where not all ranks count API calls, NCCL decides on all of them. The host ends with
# status 3 where ranks decided differently.
. "$TOP/test/integration/shell_lib.sh"
P=$B/test/corpus/accept/replicated_count.bpf.o
{ [ -x "$B/test/fakes/host/standin" ] && [ -e "$P" ]; } ||
	skip_all "replicated maps" "the mock NCCL or the compiled policies were not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB ARGS...
	this=$1
	shift
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO \
		timeout 0 "$B/test/fakes/host/standin" --procs --ranks 4 --seconds inf \
		--pause-ms 1 --coll allgather,reducescatter,allgather,allreduce \
		--min 1K --max 1M --factor 4 "$@" >"$T/$this.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$this" >/dev/null 2>&1
	need "a job: $this" $?
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
verdicts() {
	timeout 300 "$S" -q -J "$this" -o json check agreement 2>/dev/null |
		grep -o '"verdict":"[a-z_]*"' | sort -u | tr -d '\n'
}
# agree: are all verdicts that, or that some ranks are asked more often?
agree() {
	found=$(verdicts)
	[ -n "$found" ] &&
		[ -z "$(echo "$found" | sed 's/"verdict":"\(agreed\|tuner_calls_differ\)"//g')" ]
}
used() { # POLICY
	run -q -J "$this" policy use "$1"
	[ "$rc" -eq 0 ]
}
# Every rank has made so many decisions more.
decided() {
	timeout 300 "$S" -q -J "$this" -o json comm list 2>/dev/null |
		grep -o '"decisions":[0-9]*' |
		awk -F: -v n="$1" '$2 < n { bad = 1 } END { exit bad || !NR }'
}

# ---- in use from the start, and exchanged

NCCLBPF_POLICY=$P
export NCCLBPF_POLICY
start fsdp --nccl 2.29.7 --events --groups 2 --grouped --probe 2:7 --report "$T/report"
await decided 2000
await agree
ok "two communicators, whose calls are in different orders on the ranks, agree" $?
grep '"coll":"allgather","bytes":1048576' "$T/report" | grep -o '"channels":[0-9]*' | sort -u |
	awk 'END { exit NR < 4 }'
ok "the same question has different answers, by the calls before it" $?
rc=0
for _ in 1 2 3; do
	used none && used replicated_count || rc=1
done
ok "the policy is exchanged while the ranks decide" $rc
await agree
ok "and the ranks agree afterwards" $?
stop
ok "all ranks have decided alike at each collective" $?

# ---- NCCL asks rank 0 alone, while the others only make calls

unset NCCLBPF_POLICY
rm -f "$T/go"
start windows --nccl 2.29.7 --events --windows "0:$T/go"
timeout 300 "$S" -q -J windows policy load "$P" >"$T/why" 2>&1
used replicated_count
ok "a change reaches ranks that are not asked" $?
: >"$T/go"
plainly() {
	timeout 300 "$S" -q -J "$this" -o json comm list 2>/dev/null |
		grep -o '"decisions":[0-9]*' | awk -F: '$2 > 300' | wc -l | grep -qx 4
}
await plainly && stop
ok "they have counted all calls since the fence, too" $?

# ---- ranks that do not all count calls, or are on several nodes

counted() {
	timeout 300 "$S" -q -J "$this" -o json status | grep -q '"calls_not_counted":[1-9]'
}

for how in none one nodes; do
	case $how in
	none) set -- --nccl 2.28.9 ;;
	one) set -- --nccl 2.29.7 --events --rank-env 1:NCCLBPF_API_CLOCK=off ;;
	nodes) set -- --nccl 2.29.7 --events --nodes 2 ;;
	esac
	start $how "$@"
	timeout 300 "$S" -q -J $how policy load "$P" >"$T/why" 2>&1
	fails 2 unchangeable "$how: such a policy is not used" -J $how policy use replicated_count
	stop
	ok "$how: all ranks decided alike" $?
	NCCLBPF_POLICY=$P
	export NCCLBPF_POLICY
	start start_$how "$@"
	unset NCCLBPF_POLICY
	await counted
	ok "$how: at the start NCCL decides, and status counts it" $?
	stop
	ok "$how: all ranks left it to NCCL" $?
done

# ---- one rank makes calls that the others do not make

NCCLBPF_POLICY=$P
export NCCLBPF_POLICY
start other --nccl 2.29.7 --events --calls-only 2:50 --hang
found() { verdicts | grep -q 'state_differs\|api_calls_differ\|diverged'; }
await found
ok "a rank that makes other calls is found" $?
status 2 "and check agreement fails" -J other check agreement
stop
messages
