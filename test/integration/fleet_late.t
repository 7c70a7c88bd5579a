#!/bin/sh
# SPDX-License-Identifier: MIT
# Processes and sites that join a job late: they get the job's generation from the
# store if the last change named a complete list of policies. After a change that
# builds on the one before, they keep their own until the next complete list.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "processes that join late"
enter_store
"$etcd" start "$T/etcd" members=1
ok "a store" $?
fleet=$(cat etcd/endpoints)
keys=/ncclbpf/1/late
ctl() { etcdctl --endpoints="$fleet" --command-timeout=3s "$@"; }
mkdir -m 700 a b c
P=$B/policies

# part LOG [VARIABLE=VALUE...] -- ARGUMENTS...: a part of the job
part() {
	log=$1
	shift
	set -- NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=late NCCL_TUNER_PLUGIN="$B/libncclbpf.so" "$@"
	env "$@" >"$log" 2>&1 &
	pid=$!
	jobs="$jobs $pid"
}
standin=$B/test/fakes/host/standin
for r in 0 1; do
	part "log.$r" NCCLBPF_SOCKET_DIR="$T/$([ $r -eq 0 ] && echo a || echo b)" timeout 200 "$standin" --ranks 2 \
		--nodes 2 --rank $r --meet "$T/meet" --min 4M --max 32M --seconds 190 --pause-ms 5
done
# alone LOG DIR RANK [SECONDS]: a process with a communicator of its own and another policy
alone() {
	part "$1" RANK="$3" NCCLBPF_SOCKET_DIR="$T/$2" NCCLBPF_POLICY="$P/force.policy" timeout 200 \
		"$standin" --ranks 1 --min 4M --max 32M --seconds "${4:-190}" --pause-ms 5
}
registered() { [ "$(ctl get --prefix --print-value-only $keys/comm/ | grep -c '"since":[1-9]')" -eq 2 ]; }
await registered
ok "two sites run the job" $?
commit_n() { ctl get --print-value-only $keys/order/commit | sed -n 's/.*"n":\([0-9]*\).*/\1/p'; }
# uses DIR POLICIES GENERATION N: do the site's N processes have these?
uses() {
	NCCLBPF_SOCKET_DIR=$T/$1 run -J late -o tsv status
	awk -F '\t' -v want="$2" -v gen="$3" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += ($h["policies"] != want || $h["generation"] != gen) } END { exit bad || n != '"$4"' }' out
}
status 0 "an operator changes the policies" --fleet "$fleet" -J late policy use "$P/size_aware.policy"
n=$(commit_n)

# ---- a process on a site that the job has ----
alone log.late a 5
late=$pid
await uses a size_aware "$n" 2
ok "a process that starts later on a site gets the job's generation" $?
await grep -q "processes that started later have generation $n" log.0 log.1 log.late
ok "the site's agent says so" $?
[ "$(commit_n)" = "$n" ]
ok "and the job was not changed for it" $?
status 0 "the next change, which builds on it, includes it" --fleet "$fleet" -J late policy add "$P/nvlink_ring_mid.policy"
m=$(commit_n)
await uses a size_aware,nvlink_ring_mid "$m" 2
ok "in the same generation as the others" $?

# ---- after a change that is no complete list ----
kill "$late"
alone log.second a 6
await grep -q "processes that started after change $m keep their own policies: the change is no complete list" log.0 log.1 log.second
ok "after a change that is no complete list, the agent says that a later process keeps its own" $?
status 0 "the next complete list includes it" --fleet "$fleet" -J late policy use "$P/size_aware.policy"
n=$(commit_n)
await uses a size_aware "$n" 2
ok "again in the same generation" $?

# ---- a site that joins later ----
alone log.site c 7
joined() { uses c size_aware "$(commit_n)" 1 && uses a size_aware "$(commit_n)" 2 && uses b size_aware "$(commit_n)" 1; }
await joined
ok "a site that joins later gets what an operator has changed the job to" $?
run --fleet "$fleet" -o tsv audit
grep "policy use size_aware" out | grep -q "the job starts with it"
ok "audit says why" $?
