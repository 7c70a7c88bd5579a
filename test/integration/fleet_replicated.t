#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Replicated maps of a communicator of two sites: its ranks begin with NCCL's own choice,
# and count and decide alike from the fleet's first fence on, also while policies change and
# where NCCL asks the tuners of one site alone. Where not all ranks count API calls, nothing
# changes. The host ends with status 3 where ranks decided differently.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
P=$B/test/corpus/accept/replicated_count.bpf.o
needs_store "replicated maps of two sites"
[ -e "$P" ] || skip_all "replicated maps of two sites" "the compiled policies are missing"
enter_store
store_of replicated

start() { # JOB OPTION...: the job on two sites
	sites_of "$@" --pause-ms 1 --min 1K --max 1M --factor 4 \
		--coll allgather,reducescatter,allgather,allreduce
}
ask() { run --fleet "$fleet" -J "$this" "$@"; }
# uses POLICY: do all ranks of both sites decide with it alone
uses() {
	ask -o tsv comm list
	awk -F '\t' -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += $h["policies"] != want } END { exit bad || n != 4 }' out
}
agrees() {
	ask -o json check agreement
	[ "$(grep -o '"verdict":"[a-z_]*"' out | sort -u | grep -cv 'agreed\|tuner_calls_differ')" \
		-eq 0 ] && grep -q '"sites":2' out
}
# answers: the same question has different answers, by the calls before it
answers() {
	grep '"coll":"allgather","bytes":1048576' "$T/report" | grep -o '"channels":[0-9]*' |
		sort -u | awk 'END { exit NR < 4 }'
}

# ---- begun at a fence, and exchanged; NCCL counts the two sites as nodes, or as one

for nodes in 2 1; do
	: >"$T/report"
	NCCLBPF_POLICY=$P
	export NCCLBPF_POLICY
	start "begins$nodes" --nodes $nodes --nccl 2.29.7 --events --probe 2:7 \
		--report "$T/report"
	unset NCCLBPF_POLICY
	await uses replicated_count
	ok "nodes $nodes: the fleet's first fence brings the policy that they started with" $?
	await answers
	ok "its answers depend on earlier calls" $?
	rc=0
	for _ in 1 2 3; do
		ask policy use none
		await uses '[]' || rc=1
		ask policy use replicated_count
		await uses replicated_count || rc=1
	done
	ok "the policy is exchanged while the ranks decide" $rc
	await agrees
	ok "the replicated maps of both sites agree" $?
	stop_ranks
	ok "all ranks have decided alike at each collective" $?
done

# ---- NCCL asks rank 0 alone, so no rank of the other site decides

plainly() {
	ask -o tsv comm list
	awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n += $h["decisions"] > 300 } END { exit n != 4 }' out
}
for nodes in 2 1; do
	rm -f "$T/go"
	start "windows$nodes" --nodes $nodes --nccl 2.29.7 --events --windows "0:$T/go"
	ask policy use "$P"
	[ "$rc" -eq 0 ] && await uses replicated_count
	ok "nodes $nodes: a change reaches the site whose ranks are not asked" $?
	: >"$T/go"
	await plainly && await agrees
	ok "they have counted all calls since the fence, too" $?
	stop_ranks
	ok "all ranks have decided alike" $?
done

# ---- ranks that do not all count calls

for how in none one; do
	case $how in
	none)
		why="the policies have replicated maps, and on site "
		set -- --nccl 2.28.9
		;;
	one)
		why="ranks count no API calls: set NCCL_PROFILER_PLUGIN=ncclbpf"
		set -- --nccl 2.29.7 --events --rank-env 3:NCCLBPF_API_CLOCK=off
		;;
	esac
	start $how --nodes 2 "$@"
	ask -o json policy use "$P"
	[ "$rc" -eq 2 ] && grep -q '"state":"unchangeable"' out
	ok "$how: such a policy is not used" $?
	has "$how: the reason says what to set" out "$why"
	uses '[]'
	ok "$how: NCCL decides on all ranks" $?
	stop_ranks
	ok "$how: all ranks decided alike" $?
done

# ---- one rank makes calls that the others do not make

NCCLBPF_POLICY=$P
export NCCLBPF_POLICY
start other --nodes 2 --nccl 2.29.7 --events --calls-only 2:50 --hang
found() {
	ask -o json check agreement
	grep -q '"verdict":"\(state_differs\|api_calls_differ\|diverged\)"' out
}
await found
ok "a rank of one site that makes other calls is found" $?
stop_ranks
