#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# A sweep over the two sites of a job: its candidates are changes of all ranks, and
# both sites have their baseline again at the end.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a sweep over sites"
enter_store
tls_store tables
two_sites tables
# using POLICIES: the policies of all four ranks, and no table of a sweep is held
using() {
	run -o tsv comm list
	awk -F '\t' -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n++; bad += ($h["policies"] != want) } END { exit bad || n != 4 }' out || return 1
	run -q -o name policy list
	! grep -q '^sweep-' out
}
cat >plan.lua <<'END'
return { scope = { collectives = { "allreduce" }, sizes = "8M..64M" }, algos = { "ring" },
	protos = { "ll128", "simple" }, channels = { 0, 1 }, rounds = 8, samples = 10,
	guards = { slower_pct = 100 }, label = "times are replayed" }
END
decided() { "$S" -o json comm show | grep -q '"bytes_from":67108864'; }
await decided
run -o table sweep start plan.lua out=best.csv
cp out sweep.out
[ "$rc" -eq 0 ]
ok "a sweep over both sites" $?
has "finds what is replayed" sweep.out "better" "ring/" "faster by" "the job has its baseline again"
has "the guard ends the trial with one channel" sweep.out \
	"left out: allreduce 64M ring/simplex1: allreduce 64M of" "slower by"
await using "[]"
ok "the baseline is in use on both sites, no table is held" $?
status 0 "the table found is used on both sites" policy use best.csv
await using best
ok "by all ranks" $?
status 0 "and they agree" check agreement
kill "$job"
wait "$job"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
