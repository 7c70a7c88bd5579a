#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Processes and sites that join a job late: they get the job's generation from the
# store, with the contents of coherent maps, whatever changes have made it.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "processes that join late"
enter_store
store_of late
P=$B/policies
NCCLBPF_FLEET=$fleet serve late a b c

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
	part "log.$r" NCCLBPF_SOCKET_DIR="$T/$([ $r -eq 0 ] && echo a || echo b)" \
		timeout 0 "$standin" --ranks 2 --nodes 2 --rank $r --meet "$T/meet" --min 4M \
		--max 32M --seconds inf --pause-ms 5
done
# alone LOG DIR RANK: a process with a communicator of its own and another policy
alone() {
	part "$1" RANK="$3" NCCLBPF_SOCKET_DIR="$T/$2" NCCLBPF_POLICY="$P/force.policy" \
		timeout 0 "$standin" --ranks 1 --min 4M --max 32M --seconds inf --pause-ms 5
}
await registered
need "two sites run the job" $?
# uses DIR POLICIES GENERATION N: do the site's N processes have these?
uses() {
	NCCLBPF_SOCKET_DIR=$T/$1 run -J late -o tsv status
	awk -F '\t' -v want="$2" -v gen="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += ($h["policies"] != want || $h["generation"] != gen) }
		END { exit bad || n != '"$4"' }
	' out
}
status 0 "an operator changes the policies" --fleet "$fleet" \
	-J late policy use "$P/size_aware.policy"
n=$(commit_n)

# ---- a process on a site that the job has ----
alone log.late a 5
late=$pid
await uses a size_aware "$n" 2
ok "a process that starts later on a site gets the job's generation" $?
await grep -q "processes that started later have generation $n" log.agents
ok "the site's agent says so" $?
[ "$(commit_n)" = "$n" ]
ok "and the job was not changed for it" $?
status 0 "the next change, which builds on it, includes it" --fleet "$fleet" \
	-J late policy add "$P/nvlink_ring_mid.policy"
m=$(commit_n)
await uses a size_aware,nvlink_ring_mid "$m" 2
ok "in the same generation as the others" $?

# ---- after changes that build on the one before ----
kill "$late"
status 0 "a third policy is inserted" --fleet "$fleet" \
	-J late policy add "$P/force.policy" position=first
status 0 "its coherent map changes" --fleet "$fleet" \
	-J late map set force 0 '{algo=ring, channels=7, enabled=1}'
status 0 "a policy is removed" --fleet "$fleet" -J late policy remove nvlink_ring_mid
m=$(commit_n)
stored() {
	ctl get --print-value-only $keys/order/state | grep -q '"n":'"$m"',.*"line":"change import"'
}
await stored
ok "the coordinator stores the generation, because no request alone makes it" $?
# the process's own policy is force too, with the contents of its image
alone log.second a 6
second=$pid
await uses a force,size_aware "$m" 2
ok "a process that starts after such changes gets the generation" $?
await grep -q "processes that started later have generation $m" log.agents
ok "the site's agent says so again" $?
NCCLBPF_SOCKET_DIR=$T/a run -J late -o json map dump force
[ "$(grep -o '"channels":7' out | wc -l)" -ge 1 ] && ! grep -q '"channels":0' out
ok "with the contents of the map that the change wrote" $?
status 0 "and all ranks agree" --fleet "$fleet" -J late check agreement
status 0 "the next change of the map includes it" --fleet "$fleet" \
	-J late map set force 0 '{algo=ring, channels=9, enabled=1}'
n=$(commit_n)
await uses a force,size_aware "$n" 2
ok "in the same generation as the others" $?

# ---- a site that joins later ----
m=$n
await stored
alone log.site c 7
third=$pid
joined() {
	uses c "$1" "$(commit_n)" 1 && uses a "$1" "$(commit_n)" 2 && uses b "$1" "$(commit_n)" 1
}
await joined force,size_aware
ok "a site that joins later gets the generation that changes of several kinds have made" $?
NCCLBPF_SOCKET_DIR=$T/c run -J late -o json map dump force
has "with the map's contents" out '"channels":9'
run --fleet "$fleet" -o tsv audit
grep "change import" out | grep -q "the job starts with it"
ok "audit says why" $?

# ---- they end, and an operator goes back ----
kill "$third" "$second"
two_sites() {
	[ "$(ctl get --prefix --keys-only $keys/site/ | grep -c .)" -eq 2 ] &&
		uses a force,size_aware "$(commit_n)" 1
}
await two_sites
ok "the processes end" $?
status 0 "an operator undoes the change" --fleet "$fleet" -J late policy undo
await uses b force,size_aware "$(commit_n)" 1
ok "site b has the generation before" $?
status 0 "the next complete list of policies" --fleet "$fleet" \
	-J late policy use "$P/size_aware.policy"
alone log.again a 8
await uses a size_aware "$(commit_n)" 2
ok "is what a later process gets" $?
